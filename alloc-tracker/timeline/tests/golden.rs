//! Files of every version that was ever shipped load for ever, and mean the same.
mod full;

use std::path::{Path, PathBuf};

use alloc_timeline::Timeline;

/// What was written of `full::records()`: by the first recorders, since there is an analysis, since there is a peak of the
/// requested bytes, and requested bytes of steps and own peaks, since there are stacks, since books have parts, since it
/// is known what nobody reads again, since limits are watched, since there are processors and energy, since a
/// device's memory is modelled, since it is measured, since the probes' own processor time is measured, since times are
/// kept step by step, since a recovered file does not say what only an end tells, since calls say in which file their
/// code is, since operators tell phases, steps and the kinds of layers, since samples are kept by thread, since child processes are looked at and tensors in shared memory told, since calls say in
/// which language they are, and since scopes say how many blocks labels gave them. None is a version of its own, because a reader that
/// does not know them misreads nothing. These files are never written anew: when this test fails, the reader or the format changed,
/// and the format needs a new version.
fn shipped() -> [(&'static str, Timeline); 19] {
    [
        ("v1.timeline.json", full::versions::first_timeline()),
        ("v1-analysis.timeline.json", full::versions::second_timeline()),
        ("v1-requested.timeline.json", full::versions::third_timeline()),
        ("v1-stacks.timeline.json", full::versions::fourth_timeline()),
        ("v1-books.timeline.json", full::versions::fifth_timeline()),
        ("v1-unread.timeline.json", full::versions::sixth_timeline()),
        ("v1-near-limit.timeline.json", full::versions::seventh_timeline()),
        ("v1-power.timeline.json", full::versions::eighth_timeline()),
        ("v1-device.timeline.json", full::versions::ninth_timeline()),
        ("v1-devices.timeline.json", full::versions::tenth_timeline()),
        ("v1-probes.timeline.json", full::versions::eleventh_timeline()),
        ("v1-step-times.timeline.json", full::versions::twelfth_timeline()),
        ("v1-recovered.timeline.json", full::versions::twelfth_recovered()),
        ("v1-objects.timeline.json", full::versions::with_objects()),
        ("v1-derived.timeline.json", full::versions::derived_timeline()),
        ("v1-threads.timeline.json", full::versions::threads_timeline()),
        ("v1-children.timeline.json", full::versions::children_timeline()),
        ("v1-languages.timeline.json", full::versions::languages_timeline()),
        ("v1-moved.timeline.json", full::timeline()),
    ]
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

#[test]
fn version_1_loads() {
    for (name, timeline) in shipped() {
        assert_eq!(alloc_timeline::load(golden(name)).unwrap(), timeline, "{name}");
    }
}

#[test]
fn version_1_is_still_what_is_written() {
    for (name, timeline) in shipped() {
        let mut written = Vec::new();
        alloc_timeline::encode(&timeline, &mut written).unwrap();
        let golden = std::fs::read_to_string(golden(name)).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), golden, "{name}");
    }
}
