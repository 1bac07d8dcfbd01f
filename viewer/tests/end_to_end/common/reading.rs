//! Reads a timeline or a log that may be damaged in any way. The tests with damaged input (`readers.rs`) and the fuzzer
//! (`tests/fuzz`) use it.
use std::path::Path;

use alloc_timeline::{Dimension, encode, log, parse};
use viewer::analysis::{curve, owners, summarise};
use viewer::model::Run;

/// Computes from an accepted timeline what the commands compute.
fn analyse(timeline: alloc_timeline::Timeline) {
    let run = Run::new("x.timeline.json", timeline);
    let _ = (summarise(&run), owners(&run.timeline.peak, run.scopes()));
    Dimension::ALL.into_iter().for_each(|dimension| drop(curve(&run.timeline, dimension, 8)));
}

/// Reads `input` as a timeline. Returns whether it is one.
pub fn read_timeline(input: &[u8]) -> bool {
    parse(input, Path::new("x.timeline.json")).map(analyse).is_ok()
}

/// Recovers a timeline from `input`, a log, and reads that timeline. Returns whether both succeeded.
pub fn read_log(input: &[u8]) -> bool {
    let Ok(recovered) = log::recover(input, "x.log") else { return false };
    let mut bytes = Vec::new();
    encode(&recovered.timeline, &mut bytes).expect("what was read can be written");
    read_timeline(&bytes)
}
