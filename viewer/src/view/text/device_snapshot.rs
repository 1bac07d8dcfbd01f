//! `viewer device-snapshot`: a snapshot of PyTorch's caching allocator beside the model of it.
use crate::analysis::{Compared, DeviceComparison};
use crate::model::{exact, exact_change, size};
use crate::view::text::table::table;
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::wrapped;

/// One device after the other.
pub fn device_snapshot_text(devices: &[DeviceComparison], terminal: Terminal) -> String {
    if devices.is_empty() {
        return "The snapshot has no segments and no trace: nothing was allocated on a device.\n".to_owned();
    }
    devices.iter().map(|device| device_text(device, terminal.width)).collect::<Vec<_>>().join("\n")
}

fn device_text(device: &DeviceComparison, width: usize) -> String {
    let settings = if device.settings.is_empty() { "the defaults" } else { &device.settings };
    let mut out = format!("Device {}, settings: {settings}\n", device.device);
    let mut say = |sentence: String| out.push_str(&wrapped(&sentence, "", "", width));
    say(format!(
        "The trace has {} entries. When it began, {} blocks of {} bytes were in use. PyTorch's numbers are those of the \
         snapshot; the model's follow from the requests and frees of the trace",
        exact(device.trace_entries as u64),
        exact(device.older_blocks as u64),
        exact(device.older_bytes),
    ));
    let mut figures = table(&["bytes", ">PyTorch", ">", ">model", ">model - PyTorch"]);
    for (name, compared) in [
        ("requested", device.requested_bytes),
        ("allocated", device.allocated_bytes),
        ("reserved", device.reserved_bytes),
        ("reserved at most", device.peak_reserved_bytes),
    ] {
        let Compared { measured, predicted } = compared;
        figures.add_row([name.to_owned(), exact(measured), size(measured), exact(predicted), difference(compared)]);
    }
    out.push_str(&format!("\n{}", figures.text(width)));
    let mut segments = table(&["segments", ">bytes", ">", ">PyTorch", ">model", ">model - PyTorch", ">identical"]);
    for row in &device.segments {
        segments.add_row([
            if row.is_small { "small" } else { "large" }.to_owned(),
            exact(row.bytes),
            size(row.bytes),
            exact(row.count.measured),
            exact(row.count.predicted),
            difference(row.count),
            exact(row.identical),
        ]);
    }
    out.push_str(&format!("\n{}", segments.text(width)));
    let mut say = |sentence: String| out.push_str(&wrapped(&sentence, "", "", width));
    if device.requests > 0 {
        say(format!(
            "The model served {} of {} requests with a block at the same address as PyTorch",
            exact(device.same_address),
            exact(device.requests)
        ));
        say(match &device.first_difference {
            None => {
                "Each request that made a segment made one of the same size in the model, and no other did".to_owned()
            }
            Some(first) => format!(
                "The first difference is at entry {}, a request of {} bytes: PyTorch {}, the model {}",
                exact(first.entry as u64),
                exact(first.requested_bytes),
                made(first.new_segment_bytes.measured),
                made(first.new_segment_bytes.predicted)
            ),
        });
    }
    device.notes.iter().for_each(|note| say(format!("Note: {note}")));
    out
}

fn difference(compared: Compared) -> String {
    exact_change(i128::from(compared.predicted) - i128::from(compared.measured))
}

fn made(bytes: u64) -> String {
    if bytes == 0 { "took a free block".to_owned() } else { format!("made a segment of {} bytes", exact(bytes)) }
}
