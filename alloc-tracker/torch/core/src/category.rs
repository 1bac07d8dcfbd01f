//! What a tensor storage is for, by the phase and the operator that allocate it.
use alloc_tracker::hooks::{Current, Name};
use alloc_tracker::{Category, DerivedPhase, work_of};

use crate::hooks::Hooks;

/// The work of the phases in which parameters are updated.
pub(crate) const OPTIMIZER: &str = "optimizer";
/// The work of the phases in which the autograd engine runs.
pub(crate) const BACKWARD: &str = "backward";

/// The numbers of the names that mean something to the attribution wherever they occur.
#[derive(Clone, Copy)]
pub(crate) struct KnownNames {
    /// The phase of a backward pass on a thread to which the program's phase does not go.
    pub(crate) backward: Name,
    derived: [Name; DerivedPhase::ALL.len()],
    accumulate_grad: Name,
}

impl KnownNames {
    pub(crate) fn new(hooks: &impl Hooks) -> KnownNames {
        KnownNames {
            backward: hooks.name(BACKWARD),
            derived: DerivedPhase::ALL.map(|phase| hooks.name(phase.name())),
            accumulate_grad: hooks.name("torch::autograd::AccumulateGrad"),
        }
    }

    /// The name of a derived phase.
    pub(crate) fn derived(&self, phase: DerivedPhase) -> Name {
        let place = DerivedPhase::ALL.iter().position(|&known| known == phase);
        place.map_or(Name(0), |place| self.derived[place])
    }

    /// What a storage is for that is allocated in the scope `current`.
    pub(crate) fn category(&self, hooks: &impl Hooks, current: Current) -> Category {
        if current.op == self.accumulate_grad {
            return Category::Gradient;
        }
        match work(hooks, current.phase) {
            "data" => Category::Input,
            OPTIMIZER => Category::OptimizerState,
            "init" | "runtime" => Category::Other,
            _ => Category::Activation,
        }
    }
}

/// What is done in a phase: the last part of its name. A training step with several passes has phases of one work, and
/// names them apart by what stands before it: `generator/optimizer` and `discriminator/optimizer` are both `optimizer`.
pub(crate) fn work(hooks: &impl Hooks, phase: Name) -> &'static str {
    work_of(hooks.text(phase))
}
