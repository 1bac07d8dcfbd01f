//! `viewer stacks --by object`: who allocates, by executable and shared library.
use crate::analysis::{Measure, measured_bytes, objects};
use crate::model::{Run, exact, share, size};
use crate::view::text::table::table;
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
    let what = match measure {
        Measure::Peak => "Who held the peak",
        Measure::Leaks => "Who allocated what was live at exit",
        Measure::Allocated => "Who allocated",
        Measure::Growth => return title + NO_GROWTH,
    };
    let Some(all) = objects(&run.timeline, measure) else { return title + NO_OBJECTS };
    let bytes = |index: usize| measured_bytes(&all[index].sums, measure);
    let whole: u64 = (0..all.len()).map(bytes).fold(0, u64::saturating_add);
    let mut table = table(&[">bytes", ">share", ">samples", "object"]);
    for (index, object) in all.iter().enumerate().take(most) {
        let samples = exact(object.sums.samples);
        table.add_row([size(bytes(index)), share(bytes(index), whole), samples, object.object.clone()]);
    }
    if all.len() > most {
        let rest: u64 = (most..all.len()).map(bytes).fold(0, u64::saturating_add);
        table.add_row([size(rest), share(rest, whole), String::new(), format!("rest ({})", all.len() - most)]);
    }
    table.add_row([size(whole), String::new(), String::new(), "= all sampled".to_owned()]);
    format!("{title}{what}, by executable and shared library: estimates from samples\n\n{}", table.text(width))
}
