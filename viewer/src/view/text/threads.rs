//! `viewer stacks --by thread`: which thread allocates.
use crate::analysis::{Measure, ThreadSums, threads};
use crate::model::{Run, shown};
use crate::view::text::sampled_parts::{Words, parts_text};
use crate::view::text::terminal::Terminal;
use crate::view::text::wrapped::fitted;

const WORDS: Words = Words { owner: "thread", owners: "threads", by: "the thread that allocated it" };

/// The threads with the most measured bytes, at most `most` of them.
pub fn threads_text(run: &Run, measure: Measure, most: usize, terminal: Terminal) -> String {
    let all = threads(&run.timeline, measure);
    let all = all.map(|all| all.iter().map(|thread| (thread_words(thread), thread.sums)).collect());
    fitted(&parts_text(run, &WORDS, all, measure, most, terminal.width), terminal.width)
}

/// A thread's name and number, or what is known instead.
fn thread_words(thread: &ThreadSums) -> String {
    match (thread.number, &thread.name) {
        (None, _) => "(other threads)".to_owned(),
        (Some(0), _) => "(threads at their start or end)".to_owned(),
        (Some(number), Some(name)) => format!("{} (thread {number})", shown(name)),
        (Some(number), None) => format!("thread {number} (ended before its name was read)"),
    }
}

#[cfg(test)]
mod tests {
    use alloc_timeline::SiteSums;

    use super::*;

    #[test]
    fn every_thread_has_words() {
        let words = |number, name: Option<&str>| {
            thread_words(&ThreadSums { number, name: name.map(str::to_owned), sums: SiteSums::default() })
        };
        assert_eq!(words(Some(3), Some("loader")), "loader (thread 3)");
        assert_eq!(words(Some(4), Some("two\nlines")), "two\u{fffd}lines (thread 4)");
        assert_eq!(words(Some(12), None), "thread 12 (ended before its name was read)");
        assert_eq!(words(Some(0), None), "(threads at their start or end)");
        assert_eq!(words(None, None), "(other threads)");
    }
}
