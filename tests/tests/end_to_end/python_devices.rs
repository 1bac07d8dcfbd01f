//! A GPU's memory in programs of Python. No machine of the tests has a GPU; what its caching allocator tells c10, a script tells.
use alloc_timeline::Category;
use tests::folder;

use super::python_torch::{python, recorded};

/// Each block has its layer, phase and category; the peak is that of the totals which came with the blocks.
#[test]
fn blocks_of_a_device_are_told_by_layer_and_phase() {
    let Some(python) = python() else { return };
    let folder = folder();
    let (ran, timeline) = recorded(python, folder.path(), "device_blocks.py");
    assert_eq!(ran.stdout, "True\n[1536]\n", "the label is taken, and libtorch's profiler was told");
    let [device] = &timeline.devices[..] else { panic!("one device: {:?}", timeline.devices) };
    assert_eq!(
        (device.device.as_str(), device.allocations, device.frees, device.reserved_bytes),
        ("cuda:0", Some(7), Some(1), Some(2 << 20))
    );
    let peak = device.peak.as_ref().expect("a peak");
    let mut rows: Vec<(&str, &str, Category, u64)> = peak
        .rows
        .iter()
        .map(|row| (&timeline.scopes[row.scope as usize], row))
        .map(|(scope, row)| (scope.phase.as_str(), scope.layer.as_str(), row.category, row.usable_bytes))
        .collect();
    rows.sort_unstable_by_key(|&(phase, layer, _, bytes)| (phase, layer, bytes));
    let expected = [
        ("", "", Category::Other, 512),
        ("", "0", Category::Parameter, 2048),
        // Of each function's backward node.
        ("backward", "0", Category::Activation, 1024),
        ("backward", "1", Category::Activation, 1024),
        ("forward", "0", Category::Activation, 4096),
        ("forward", "1", Category::Activation, 8192),
    ];
    assert_eq!(rows, expected);
    assert_eq!(peak.live_bytes, expected.iter().map(|row| row.3).sum::<u64>());
    let refused = |mark: &&alloc_timeline::Mark| mark.name == "cuda:0 has no room for 70368744177664 bytes";
    assert_eq!(timeline.marks.iter().filter(refused).count(), 1);
}
