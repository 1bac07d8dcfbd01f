//! Which phase was growing when: the nearest answer to "which phase was running" that a timeline can prove.
//!
//! A timeline does not record which phase was active at an instant. It records which phase allocated the live bytes. The
//! phase whose live bytes grew the most between two samples was certainly active between them. No phase is named for a
//! span in which none grew by a thousandth of the peak: a phase may have been active there, but nothing shows it.
use alloc_timeline::{NONE, Timeline};

/// A span of time in which one phase grew the most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrowingPhase {
    /// The phase.
    pub phase: String,
    /// Beginning of the span.
    pub start_ns: u64,
    /// End of the span.
    pub end_ns: u64,
}

/// The spans in the order of time. Adjacent spans of one phase are merged.
pub fn growing_phases(timeline: &Timeline) -> Vec<GrowingPhase> {
    let series = &timeline.series;
    let threshold = (timeline.peak.live_bytes / 1000).max(1);
    let mut spans: Vec<GrowingPhase> = Vec::new();
    for index in 1..series.time_ns.len() {
        let grown = series
            .by_phase
            .iter()
            .filter(|(name, _)| *name != NONE)
            .map(|(name, column)| (column[index].saturating_sub(column[index - 1]), name))
            .filter(|(bytes, _)| *bytes >= threshold)
            .max();
        let Some((_, phase)) = grown else { continue };
        let (start_ns, end_ns) = (series.time_ns[index - 1], series.time_ns[index]);
        match spans.last_mut() {
            Some(last) if last.phase == *phase && last.end_ns == start_ns => last.end_ns = end_ns,
            _ => spans.push(GrowingPhase { phase: phase.clone(), start_ns, end_ns }),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;

    #[test]
    fn the_phase_that_grew_most_names_the_span() {
        let spans = growing_phases(&tiny());
        let spans: Vec<(&str, u64, u64)> =
            spans.iter().map(|span| (span.phase.as_str(), span.start_ns / 1000, span.end_ns / 1000)).collect();
        // Parameters by 1.5 ms, activations by 2.5 and 3.5 ms, the gradient by 4.5 ms, nothing after.
        assert_eq!(spans, [("init", 500, 1500), ("forward", 1500, 3500), ("backward", 3500, 4500)]);
    }
}
