//! The memory of devices: what was measured and what was predicted beside each other, the layers of the peak, and the account of
//! each device.
use alloc_timeline::{BeyondLine, DevicePrediction, Dimension};

use crate::analysis::DeviceFigures;
use crate::model::{Run, exact, share, shortened, size};
use crate::view::text::kind_column::KindColumn;
use crate::view::text::sourced_table::SourcedTable;
use crate::view::text::table::{short_name, table};
use crate::view::text::wrapped::{fitted, wrapped};
use crate::view::words::account::{signed_exact, signed_size, unavailable};
use crate::view::words::device::{account_heading, device_name, settings_name};
use crate::view::words::time_columns::TimeColumns;

/// Rows of a table of layers.
const MOST_ROWS: usize = 10;
/// Characters of a line's name.
const NAME_WIDTH: usize = 46;

/// What was measured and predicted, and the layers of each device's peak; `none` says why nothing was measured. Nothing when
/// there is nothing to say.
pub(super) fn device_text(
    run: &Run,
    devices: &[DeviceFigures],
    predictions: &[DevicePrediction],
    none: Option<&str>,
    width: usize,
) -> String {
    if devices.is_empty() && predictions.is_empty() {
        return none
            .map_or_else(String::new, |none| format!("Memory of devices\n{}", wrapped(none, "  ", "    ", width)));
    }
    let mut table = table(&["settings", ">requested", ">allocated", ">reserved", ">segments"]);
    let known = |bytes: Option<u64>| bytes.map_or("unavailable".to_owned(), size);
    for one in devices {
        let bytes = [one.requested_bytes(), one.allocated_bytes(), one.reserved_bytes].map(known);
        table.add_row([format!("measured, {}", one.device)].into_iter().chain(bytes).chain(["-".to_owned()]));
    }
    for one in predictions {
        let bytes = [one.requested_bytes, one.allocated_bytes, one.reserved_bytes].map(size);
        table.add_row([settings_name(one).to_owned()].into_iter().chain(bytes).chain([exact(one.segments)]));
    }
    let title = match (devices, predictions) {
        ([], _) => "Tensors on a device, by a model of PyTorch's caching allocator: the most at once",
        (_, []) => "Memory of devices: the most at once",
        _ => "Memory of devices: the most at once, measured, and by a model of PyTorch's caching allocator",
    };
    let mut out = fitted(title, width) + &table.text(width);
    if let Some(none) = none {
        out.push_str(&wrapped(&format!("measured: {none}"), "  ", "    ", width));
    }
    for one in devices {
        out.push_str(&wrapped(&format!("{}: {}", device_name(one), one.source), "  ", "    ", width));
    }
    for one in devices.iter().filter(|one| one.peak.is_some()) {
        out.push_str(&format!("\nPeak of {} by layer\n{}", one.device, layers(run, one, width)));
    }
    out
}

/// The layers of a device's peak.
fn layers(run: &Run, device: &DeviceFigures, width: usize) -> String {
    let (layers, whole) = (device.layers(), device.allocated_bytes().unwrap_or(0));
    let times = TimeColumns::for_dimension(&run.timeline, Dimension::Layer);
    let kinds = KindColumn::new(run);
    let mut table = table(&times.behind(&kinds.behind(&["layer", ">bytes", ">", ">share"])));
    let mut row = |name: String, bytes: u64, kind: Option<String>, time: Vec<String>| {
        table.add_row([name, exact(bytes), size(bytes), share(bytes, whole)].into_iter().chain(kind).chain(time));
    };
    for (name, bytes) in layers.iter().take(MOST_ROWS) {
        row(short_name(name), *bytes, kinds.of(name), times.of(Dimension::Layer, name));
    }
    if let Some(rest) = layers.get(MOST_ROWS..).filter(|rest| !rest.is_empty()) {
        let bytes = rest.iter().map(|layer| layer.1).fold(0, u64::saturating_add);
        row(format!("rest ({})", rest.len()), bytes, kinds.blank(), times.blank());
    }
    table.text(width)
}

/// The account of each device, from requested bytes to what is used of it. `none` says why there is none.
pub(super) fn device_accounts(devices: &[DeviceFigures], none: Option<&str>, width: usize) -> String {
    if devices.is_empty() {
        let say = |none: &str| format!("\nAccount of the devices\n{}", wrapped(none, "  ", "    ", width));
        return none.map_or_else(String::new, say);
    }
    let account = |device: &DeviceFigures| {
        let heading = fitted(&account_heading(device), width);
        if device.book.is_empty() {
            return format!("\n{heading}{}", wrapped(&unavailable(&device.source), "  ", "    ", width));
        }
        format!("\n{heading}{}", totals_and_steps(&device.book).text(width))
    };
    devices.iter().map(account).collect()
}

/// An account in totals and steps. A total begins at the margin, and an empty row follows it; the steps between two totals are
/// indented.
pub(super) fn totals_and_steps(lines: &[BeyondLine]) -> SourcedTable {
    let mut table = SourcedTable::new(&["", ">bytes", ">"]);
    for (index, line) in lines.iter().enumerate() {
        let name = shortened(&line.name, NAME_WIDTH);
        let name = match (line.total, index) {
            (true, 0) => name,
            (true, _) => format!("= {name}"),
            (false, _) => format!("  {name}"),
        };
        match line.bytes {
            Some(bytes) => table.row([name, signed_exact(bytes), signed_size(bytes)], &line.source),
            None => table.row([name, "unavailable".to_owned(), String::new()], &unavailable(&line.source)),
        }
        if line.total && index + 1 < lines.len() {
            table.row([String::new(), String::new(), String::new()], "");
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::devices;
    use crate::model::fixture::{tiny, with_device, with_step_times};

    fn prediction(settings: &str, reserved_bytes: u64) -> DevicePrediction {
        DevicePrediction {
            settings: settings.to_owned(),
            requested_bytes: 22 << 20,
            allocated_bytes: 24 << 20,
            reserved_bytes,
            segments: 2,
        }
    }

    /// A run without times.
    fn plain() -> Run {
        Run::new("x", tiny())
    }

    #[test]
    fn each_setting_has_a_row() {
        let predictions = [prediction("", 24 << 20), prediction("expandable_segments:True", 40 << 20)];
        let text = device_text(&plain(), &[], &predictions, None, 100);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[3].starts_with("defaults ") && lines[3].contains("22.0 MiB") && lines[3].ends_with(" 2"),
            "{text}"
        );
        assert!(lines[4].starts_with("expandable_segments:True ") && lines[4].contains("40.0 MiB"), "{text}");
        assert_eq!(device_text(&plain(), &[], &[], None, 80), "");
    }

    #[test]
    fn the_prediction_stands_beside_what_was_measured() {
        let devices = devices(&Run::new("x", with_device(tiny())));
        let text = device_text(&plain(), &devices, &[prediction("", 24 << 20)], None, 80);
        let row = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap_or_default().to_owned();
        let words = |row: String| row.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
        assert_eq!(words(row("measured, cuda:0")), "measured, cuda:0 11.7 KiB 12.0 KiB 2.0 MiB -", "{text}");
        assert_eq!(words(row("measured, cuda:1")), "measured, cuda:1 unavailable unavailable unavailable -", "{text}");
        assert_eq!(words(row("defaults")), "defaults 22.0 MiB 24.0 MiB 24.0 MiB 2", "{text}");
        assert!(
            text.contains("  cuda:1: unavailable: a reason\n") && text.contains("Peak of cuda:0 by layer\n"),
            "{text}"
        );
        assert_eq!(words(row("conv1")), "conv1 8,192 8.0 KiB 66.7 %");
    }

    #[test]
    fn the_layers_of_a_device_have_times_where_the_run_has_them() {
        let run = Run::new("x", with_step_times(with_device(tiny()), 5));
        let text = device_text(&run, &devices(&run), &[], None, 80);
        let row = text.lines().find(|line| line.starts_with("conv1 ")).unwrap_or_default();
        // A step: 0.6 ms forward and 0.3 ms backward of 1.1045 ms.
        assert!(row.ends_with("0.60          0.30    81.5 %"), "{text}");
    }

    #[test]
    fn without_a_device_the_reason_is_said() {
        let none = Some("unavailable: no driver");
        assert_eq!(device_text(&plain(), &[], &[], none, 80), "Memory of devices\n  unavailable: no driver\n");
        assert!(
            device_text(&plain(), &[], &[prediction("", 1)], none, 80)
                .ends_with("  measured: unavailable: no driver\n")
        );
        assert_eq!(device_accounts(&[], none, 80), "\nAccount of the devices\n  unavailable: no driver\n");
        assert_eq!(device_accounts(&[], None, 80), "");
    }

    #[test]
    fn the_account_of_a_device_goes_from_total_to_total() {
        let text = device_accounts(&devices(&Run::new("x", with_device(tiny()))), None, 80);
        assert!(text.starts_with("\nAccount of cuda:0, a GPU, at 3.1 ms\n"), "{text}");
        assert!(text.contains("= device used") && text.contains("  other processes"), "{text}");
        assert!(text.ends_with("\nAccount of cuda:1\n  unavailable: a reason\n"), "{text}");
    }
}
