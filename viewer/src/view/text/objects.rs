//! `viewer stacks --by object`: who allocates, by executable and shared library.
use crate::analysis::{Measure, objects};
use crate::model::Run;
use crate::view::text::sampled_parts::{Words, parts_text};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::fitted;

const WORDS: Words = Words { owner: "object", owners: "objects", by: "executable and shared library" };

/// The objects with the most measured bytes, at most `most` of them.
pub fn objects_text(run: &Run, measure: Measure, most: usize, terminal: Terminal) -> String {
    let all = objects(&run.timeline, measure);
    let all = all.map(|all| all.into_iter().map(|object| (object.object, object.sums)).collect());
    fitted(&parts_text(run, &WORDS, all, measure, most, terminal.width), terminal.width)
}
