//! The tables of the owners of the peak, the process's and each device's, that come with a chart.
use alloc_timeline::Snapshot;

use crate::analysis::owners;
use crate::model::{Run, exact, share, size};
use crate::view::text::kind_column::KindColumn;
use crate::view::text::table::{is_wide, owner_cells, rest_cells, table};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::wrapped;
use crate::view::words::names::owner_name;
use crate::view::words::time_columns::{TimeColumns, Times};

/// The `most` biggest owners of the peak, and the rest in one row; then the same of each device whose blocks were told.
pub fn top_table(run: &Run, most: usize, terminal: Terminal) -> String {
    let of_devices = run.timeline.devices.iter().filter_map(|device| {
        let peak = device.peak.as_ref()?;
        let heading = format!("Who owns the peak of {}, {}", device.device, size(peak.live_bytes));
        Some(format!("\n{}", owners_of(run, &heading, peak, most, terminal)))
    });
    let of_process = owners_of(run, "Who owns the peak", &run.timeline.peak, most, terminal);
    [of_process].into_iter().chain(of_devices).collect()
}

/// The owners of a peak. Beside times a narrow terminal has room for one name of an owner.
fn owners_of(run: &Run, heading: &str, peak: &Snapshot, most: usize, terminal: Terminal) -> String {
    let owners = owners(peak, run.scopes());
    let wide = is_wide(terminal.width);
    let times = TimeColumns::new(&run.timeline, Times::OfLayer);
    let in_parts = wide || !times.any();
    let names: &[&str] = if in_parts { &["layer", "phase", "op"] } else { &["owner"] };
    let numbers: &[&str] = match (wide, in_parts) {
        (true, _) => &["category", ">bytes", ">share", ">"],
        (false, true) => &["category", ">bytes", ">share"],
        (false, false) => &["category", ">bytes", "?>share"],
    };
    let kinds = KindColumn::new(run);
    let mut table = table(&times.behind(&kinds.behind(&[names, numbers].concat())));
    let mut row = |cells: Vec<String>, bytes: u64, kind: Option<String>, time: Vec<String>| {
        let numbers = [exact(bytes), share(bytes, peak.live_bytes)];
        table.add_row(cells.into_iter().chain(numbers).chain(wide.then(|| size(bytes))).chain(kind).chain(time));
    };
    for owner in owners.iter().take(most) {
        let cells = if in_parts {
            owner_cells(&owner.scope, owner.category).to_vec()
        } else {
            vec![owner_name(&owner.scope), owner.category.to_string()]
        };
        row(cells, owner.bytes, kinds.of(&owner.scope.layer), times.of_layer(&owner.scope.layer));
    }
    if owners.len() > most {
        let rest = &owners[most..];
        let cells = rest_cells(rest.len());
        let cells = if in_parts { &cells[..] } else { &cells[..2] };
        row(cells.to_vec(), rest.iter().map(|owner| owner.bytes).sum(), kinds.blank(), times.blank());
    }
    let meaning = times.meaning().map_or_else(String::new, |meaning| wrapped(&meaning, "", "  ", terminal.width));
    format!("{heading}\n{}{meaning}", table.text(terminal.width))
}
