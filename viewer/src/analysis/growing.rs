//! Which phase was growing when: the nearest to "which phase was running" that a timeline can prove.
//!
//! A timeline does not say which phase was active at an instant, only which phase allocated what is live. Between two
//! samples, the phase whose live bytes grew the most was certainly active in between. Spans in which nothing grew by a
//! thousandth of the peak stay blank: a phase may be active there, but nothing shows it.
use alloc_timeline::{NONE, Timeline};

/// A span of time in which one phase grew the most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Growing {
    /// The phase.
    pub phase: String,
    /// When the span begins.
    pub start_ns: u64,
    /// When it ends.
    pub end_ns: u64,
}

/// The spans, in order; neighbours of one phase are one span.
pub fn growing(timeline: &Timeline) -> Vec<Growing> {
    let series = &timeline.series;
    let threshold = (timeline.peak.live_bytes / 1000).max(1);
    let mut spans: Vec<Growing> = Vec::new();
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
            _ => spans.push(Growing { phase: phase.clone(), start_ns, end_ns }),
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
        let spans = growing(&tiny());
        let spans: Vec<(&str, u64, u64)> =
            spans.iter().map(|span| (span.phase.as_str(), span.start_ns / 1000, span.end_ns / 1000)).collect();
        // Parameters by 1.5 ms, activations by 2.5 and 3.5 ms, the gradient by 4.5 ms, nothing after.
        assert_eq!(spans, [("init", 500, 1500), ("forward", 1500, 3500), ("backward", 3500, 4500)]);
    }
}
