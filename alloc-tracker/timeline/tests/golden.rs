//! Files of every version that was ever shipped load for ever, and mean the same.
mod full;

use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// `tests/golden/v1.timeline.json` is what version 1 wrote of `full::records()`. It is never written anew: when this
/// test fails, the reader or the format changed, and the format needs a new version.
#[test]
fn version_1_loads() {
    let timeline = alloc_timeline::load(&golden("v1.timeline.json")).unwrap();
    assert_eq!(timeline, full::timeline());
}

#[test]
fn version_1_is_still_what_is_written() {
    let mut written = Vec::new();
    alloc_timeline::encode(&full::timeline(), &mut written).unwrap();
    let golden = std::fs::read_to_string(golden("v1.timeline.json")).unwrap();
    assert_eq!(String::from_utf8(written).unwrap(), golden);
}
