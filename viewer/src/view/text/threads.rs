//! `viewer stacks --by thread`: which thread allocates.
use alloc_timeline::SiteSums;

use crate::analysis::{Measure, ThreadSums, threads};
use crate::model::Run;
use crate::view::text::sampled_parts::{measured_words, parts_table};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::fitted;
use crate::view::words::stacks::CUT_SHORT;

/// The text for a timeline whose samples do not say which thread took them.
const NO_THREADS: &str =
    "No threads were recorded: run the program with ALLOC_TRACKER_STACKS=512KiB, or by `alloc-tracker record`\n";
/// The text for the one measure that is not kept by thread.
const NO_GROWTH: &str = "Growth is known by stack only: leave out --by thread\n";

/// The threads with the most measured bytes, at most `most` of them.
pub fn threads_text(run: &Run, measure: Measure, most: usize, terminal: Terminal) -> String {
    fitted(&text(run, measure, most, terminal.width), terminal.width)
}

fn text(run: &Run, measure: Measure, most: usize, width: usize) -> String {
    let title = format!("{}\n\n", run.title());
    if run.timeline.stacks.as_ref().is_some_and(|stacks| !stacks.complete) {
        return title + CUT_SHORT;
    }
    let Some(what) = measured_words(measure) else { return title + NO_GROWTH };
    let Some(all) = threads(&run.timeline, measure) else { return title + NO_THREADS };
    let all: Vec<(String, SiteSums)> = all.iter().map(|thread| (thread_words(thread), thread.sums)).collect();
    let table = parts_table("thread", &all, measure, most, width);
    format!("{title}{what}, by the thread that allocated it: estimates from samples\n\n{table}")
}

/// A thread's name and number, or what is known instead.
fn thread_words(thread: &ThreadSums) -> String {
    match (thread.number, &thread.name) {
        (None, _) => "(other threads)".to_owned(),
        (Some(0), _) => "(threads at their start or end)".to_owned(),
        (Some(number), Some(name)) => format!("{} (thread {number})", name.replace(char::is_control, "?")),
        (Some(number), None) => format!("thread {number} (ended before its name was read)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_thread_has_words() {
        let words = |number, name: Option<&str>| {
            thread_words(&ThreadSums { number, name: name.map(str::to_owned), sums: SiteSums::default() })
        };
        assert_eq!(words(Some(3), Some("loader")), "loader (thread 3)");
        assert_eq!(words(Some(4), Some("two\nlines")), "two?lines (thread 4)");
        assert_eq!(words(Some(12), None), "thread 12 (ended before its name was read)");
        assert_eq!(words(Some(0), None), "(threads at their start or end)");
        assert_eq!(words(None, None), "(other threads)");
    }
}
