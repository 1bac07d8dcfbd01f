//! Phases that the program did not name: the nature of an operator tells in which one it runs. Their names say so, so that
//! they never mix with phases that the program names.

/// What the name of every derived phase ends with.
const MARK: &str = " (derived)";

/// A phase that was derived from the operators that ran in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DerivedPhase {
    /// Operators whose results will need a gradient, those of the loss among them.
    Forward,
    /// What the autograd engine runs.
    Backward,
    /// Operators without a gradient to come that take nothing but parameters, gradients and what was made of these.
    Optimizer,
    /// All other operators while gradients are switched off.
    Infer,
}

impl DerivedPhase {
    /// All of them.
    pub const ALL: [DerivedPhase; 4] =
        [DerivedPhase::Forward, DerivedPhase::Backward, DerivedPhase::Optimizer, DerivedPhase::Infer];

    /// The name, in files and on screens.
    ///
    /// ```
    /// assert_eq!(alloc_timeline::DerivedPhase::Forward.name(), "forward (derived)");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            DerivedPhase::Forward => "forward (derived)",
            DerivedPhase::Backward => "backward (derived)",
            DerivedPhase::Optimizer => "optimizer (derived)",
            DerivedPhase::Infer => "infer (derived)",
        }
    }

    /// The derived phase of this name; `None` for a phase that the program named.
    ///
    /// ```
    /// use alloc_timeline::DerivedPhase;
    ///
    /// assert_eq!(DerivedPhase::named("infer (derived)"), Some(DerivedPhase::Infer));
    /// assert_eq!(DerivedPhase::named("infer"), None);
    /// ```
    pub fn named(name: &str) -> Option<DerivedPhase> {
        DerivedPhase::ALL.into_iter().find(|phase| phase.name() == name)
    }
}

/// What is done in a phase, whether the program named it or it was derived: the last part of its name. A training step with
/// several passes names them apart by what stands before it.
///
/// ```
/// use alloc_timeline::work_of;
///
/// assert_eq!(work_of("generator/optimizer"), "optimizer");
/// assert_eq!(work_of("optimizer (derived)"), "optimizer");
/// ```
pub fn work_of(phase: &str) -> &str {
    let work = phase.rsplit_once('/').map_or(phase, |(_, work)| work);
    if DerivedPhase::named(work).is_some() { work.trim_end_matches(MARK) } else { work }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_derived_phase_is_known_by_its_name_and_its_work() {
        let works = DerivedPhase::ALL.map(|phase| work_of(phase.name()));
        assert_eq!(works, ["forward", "backward", "optimizer", "infer"]);
        for phase in DerivedPhase::ALL {
            assert!(phase.name().ends_with(MARK));
            assert_eq!(DerivedPhase::named(phase.name()), Some(phase));
        }
        assert_eq!(work_of("loss (derived)"), "loss (derived)", "no phase of this name is ever derived");
    }
}
