//! `viewer stacks --by object`: who allocates, by executable and shared library.
use alloc_timeline::SiteSums;

use crate::analysis::{Measure, objects};
use crate::model::Run;
use crate::view::text::sampled_parts::{measured_words, parts_table};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::fitted;
use crate::view::words::stacks::CUT_SHORT;

/// The text for a timeline whose calls do not say where they are.
const NO_OBJECTS: &str =
    "No objects were recorded: run the program with ALLOC_TRACKER_STACKS=512KiB, or by `alloc-tracker record`\n";
/// The text for the one measure that is not kept by object.
const NO_GROWTH: &str = "Growth is known by stack only: leave out --by object\n";

/// The objects with the most measured bytes, at most `most` of them.
pub fn objects_text(run: &Run, measure: Measure, most: usize, terminal: Terminal) -> String {
    fitted(&text(run, measure, most, terminal.width), terminal.width)
}

fn text(run: &Run, measure: Measure, most: usize, width: usize) -> String {
    let title = format!("{}\n\n", run.title());
    if run.timeline.stacks.as_ref().is_some_and(|stacks| !stacks.complete) {
        return title + CUT_SHORT;
    }
    let Some(what) = measured_words(measure) else { return title + NO_GROWTH };
    let Some(all) = objects(&run.timeline, measure) else { return title + NO_OBJECTS };
    let all: Vec<(String, SiteSums)> = all.into_iter().map(|object| (object.object, object.sums)).collect();
    let table = parts_table("object", &all, measure, most, width);
    format!("{title}{what}, by executable and shared library: estimates from samples\n\n{table}")
}
