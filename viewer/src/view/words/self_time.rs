//! Self times in words, and the columns that tables of bytes get where times were measured.
use alloc_timeline::{Dimension, Timeline};

use crate::analysis::{SelfTimes, TimeBasis, self_times};
use crate::model::{ScopeNames, share};

/// What the times of a table are of, as a part of a sentence.
pub(in crate::view) fn basis_words(basis: &TimeBasis) -> String {
    match (basis.steps, basis.first_step, basis.last_step) {
        (0, ..) => "of the whole recording".to_owned(),
        (1, first, _) => format!("of step {first}"),
        (steps, first, last) if steps == last - first + 1 => format!("a step, the mean of steps {first} to {last}"),
        (steps, first, last) => format!("a step, the mean of {steps} of steps {first} to {last}"),
    }
}

/// Milliseconds of a step; of the whole recording where there is no step.
pub(in crate::view) fn milliseconds(basis: &TimeBasis, sum_ns: u64) -> String {
    format!("{:.2}", basis.a_step(sum_ns) / 1e6)
}

/// The columns for self time, beside bytes. Nothing where no times were measured.
pub(in crate::view) struct SelfColumns(Option<SelfTimes>);

impl SelfColumns {
    /// The columns for tables about this run.
    pub(in crate::view) fn new(timeline: &Timeline) -> SelfColumns {
        SelfColumns(self_times(timeline, None).ok())
    }

    /// No columns, whatever the run has.
    pub(in crate::view) fn none() -> SelfColumns {
        SelfColumns(None)
    }

    /// The columns for a table of names of this dimension: categories have no times.
    pub(in crate::view) fn for_dimension(timeline: &Timeline, dimension: Dimension) -> SelfColumns {
        if dimension == Dimension::Category { SelfColumns::none() } else { SelfColumns::new(timeline) }
    }

    /// The heads of the columns.
    pub(in crate::view) fn heads(&self) -> &'static [&'static str] {
        if self.0.is_some() { &["self ms", "of time"] } else { &[] }
    }

    /// The same as columns of numbers of a table in a terminal, behind others.
    pub(in crate::view) fn behind(&self, heads: &[&str]) -> Vec<String> {
        let own = self.heads().iter().map(|head| format!(">{head}"));
        heads.iter().map(|&head| head.to_owned()).chain(own).collect()
    }

    /// A sentence on what the columns are; `None` where there are none.
    pub(in crate::view) fn meaning(&self) -> Option<String> {
        let basis = basis_words(&self.0.as_ref()?.basis);
        Some(format!("self ms: time in the scopes of a name themselves, {basis}"))
    }

    /// The cells of a name.
    pub(in crate::view) fn of(&self, dimension: Dimension, name: &str) -> Vec<String> {
        self.cells(|times| times.of(dimension, name).unwrap_or(0))
    }

    /// The cells of all names but these.
    pub(in crate::view) fn of_others<'a>(
        &self,
        dimension: Dimension,
        names: impl Iterator<Item = &'a str>,
    ) -> Vec<String> {
        self.cells(|times| {
            let shown = names.map(|name| times.of(dimension, name).unwrap_or(0)).fold(0, u64::saturating_add);
            times.whole_ns().saturating_sub(shown)
        })
    }

    /// The cells of the scopes that `is_meant`.
    pub(in crate::view) fn of_scopes(&self, is_meant: impl Fn(&ScopeNames) -> bool) -> Vec<String> {
        self.cells(|times| times.sum(is_meant))
    }

    /// Cells without a number.
    pub(in crate::view) fn blank(&self) -> Vec<String> {
        vec![String::new(); self.heads().len()]
    }

    fn cells(&self, ns: impl FnOnce(&SelfTimes) -> u64) -> Vec<String> {
        let Some(times) = &self.0 else { return Vec::new() };
        let ns = ns(times);
        vec![milliseconds(&times.basis, ns), share(ns, times.whole_ns())]
    }
}
