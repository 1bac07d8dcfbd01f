//! The figures of owners in words.
use alloc_timeline::{Coverage, Ending, Figures, RetainedAt, Timeline};

use crate::model::share;

/// The text for a timeline without an analysis.
pub(in crate::view) fn not_recorded(timeline: &Timeline) -> &'static str {
    match timeline.ending {
        Ending::Recovered => "Not known: the process died before it was written down\n",
        _ => "Not recorded: this timeline is of a recorder that did not look at it\n",
    }
}

/// The event at which the retained bytes of an owner were counted: the end of its phase, of a step or of the run.
pub(in crate::view) fn retained_at_word(figures: &Figures) -> &'static str {
    match figures.retained_at {
        RetainedAt::PhaseEnd => "phase",
        RetainedAt::StepEnd => "step",
        RetainedAt::Now => "run",
    }
}

/// The two largest categories that were live in the process at the owner's peak, each with its share.
pub(in crate::view) fn largest_categories(figures: &Figures) -> String {
    let mut parts: Vec<(&String, &u64)> = figures.process_by_category.iter().collect();
    parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(**bytes));
    let words = parts.iter().take(2).map(|(name, bytes)| format!("{} {name}", share(**bytes, figures.process_bytes)));
    words.collect::<Vec<_>>().join(", ")
}

/// A sentence that says which part of all blocks is known by address.
pub(in crate::view) fn coverage_sentence(coverage: &Coverage) -> String {
    let bytes = share(coverage.bytes, coverage.all_bytes);
    let blocks = share(coverage.blocks, coverage.all_blocks);
    if coverage.blocks == coverage.all_blocks && coverage.bytes == coverage.all_bytes {
        return "These are all blocks".to_owned();
    }
    format!("These are {bytes} of all bytes and {blocks} of all blocks: the others are known as sums by scope alone")
}
