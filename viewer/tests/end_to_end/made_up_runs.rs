//! The made-up runs can be loaded, and they resemble the timelines of real recorders.
use crate::common::{Folder, nets};
use std::path::Path;

#[test]
fn the_made_up_runs_are_sound_and_small() {
    let folder = Folder::new();
    for (name, timeline) in [("mobilenet_v1", nets::mobilenet()), ("resnet18", nets::resnet18())] {
        let path = folder.store(&format!("{name}-train.timeline.json"), &timeline);
        assert_eq!(alloc_timeline::load(Path::new(&path)).unwrap(), timeline);
        assert!((150..600).contains(&timeline.series.time_ns.len()), "{}", timeline.series.time_ns.len());
        if let Some(keep) = std::env::var_os("KEEP_FIXTURES") {
            std::fs::copy(path, Path::new(&keep).join(format!("{name}-train.timeline.json"))).unwrap();
        }
    }
}

#[test]
fn mobilenet_peaks_above_resnet_at_batch_8() {
    // Activations 8 x 38.5 MiB against 8 x 20.6 MiB outweigh 12 against 45 MiB of parameters, gradients and momentum.
    assert!(nets::mobilenet().peak.live_bytes > nets::resnet18().peak.live_bytes);
}
