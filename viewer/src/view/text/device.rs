//! What the tensors of a run would take on a device, as a table.
use alloc_timeline::DevicePrediction;

use crate::model::{exact, size};
use crate::view::text::table::{render, table};

/// The predictions; nothing when there are none.
pub(super) fn device_text(predictions: &[DevicePrediction]) -> String {
    if predictions.is_empty() {
        return String::new();
    }
    let mut table = table(&["settings", ">requested", ">allocated", ">reserved", ">segments"]);
    for one in predictions {
        let settings = if one.settings.is_empty() { "defaults" } else { &one.settings };
        let bytes = [one.requested_bytes, one.allocated_bytes, one.reserved_bytes].map(size);
        table.add_row([settings.to_owned()].into_iter().chain(bytes).chain([exact(one.segments)]));
    }
    format!("Tensors on a device, by a model of PyTorch's caching allocator: the most at once\n{}", render(&table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_has_a_row() {
        let prediction = |settings: &str, reserved_bytes| DevicePrediction {
            settings: settings.to_owned(),
            requested_bytes: 22 << 20,
            allocated_bytes: 24 << 20,
            reserved_bytes,
            segments: 2,
        };
        let text = device_text(&[prediction("", 24 << 20), prediction("expandable_segments:True", 40 << 20)]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[3].starts_with("defaults ") && lines[3].contains("22.0 MiB") && lines[3].ends_with(" 2"),
            "{text}"
        );
        assert!(lines[4].starts_with("expandable_segments:True ") && lines[4].contains("40.0 MiB"), "{text}");
        assert_eq!(device_text(&[]), "");
    }
}
