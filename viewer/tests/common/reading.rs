//! What there is to be read from outside: a timeline and a log. For the tests with damaged input (`readers.rs`) and for the
//! fuzzer (`tests/fuzz`), which both give it anything.
use std::path::Path;

use alloc_timeline::{Dimension, encode, parse};
use viewer::analysis::{curve, owners, summarise};
use viewer::cli::assemble;
use viewer::model::Run;

/// What a command does with a timeline that was accepted.
fn use_it(timeline: alloc_timeline::Timeline) {
    let run = Run::new("x.timeline.json".into(), timeline);
    let _ = (summarise(&run), owners(&run.timeline.peak, run.scopes()));
    Dimension::ALL.into_iter().for_each(|dimension| drop(curve(&run.timeline, dimension, 8)));
}

/// Reads `input` as a timeline and uses it; whether it is one.
pub fn read_timeline(input: &[u8]) -> bool {
    parse(input, Path::new("x.timeline.json")).map(use_it).is_ok()
}

/// Makes a timeline of `input`, a log, and reads that; whether it could.
pub fn read_log(input: &[u8]) -> bool {
    let Ok(recovered) = assemble(input, Path::new("x.log")) else { return false };
    let mut bytes = Vec::new();
    encode(&recovered.timeline, &mut bytes).expect("what was read can be written");
    read_timeline(&bytes)
}
