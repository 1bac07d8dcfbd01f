//! What a tensor storage is for, by the phase and the operator that allocate it.
use alloc_tracker::hooks::{Current, Name};
use alloc_tracker::{Category, DerivedPhase, work_of};

use crate::hooks::Hooks;

/// The work of the phases in which parameters are updated.
pub(crate) const OPTIMIZER: &str = "optimizer";
/// The work of the phases in which the autograd engine runs.
pub(crate) const BACKWARD: &str = "backward";

/// The work of the phases in which a program is compiled while it runs.
const COMPILE: &str = "compile";
/// The work of the phases in which a Python program imports modules.
const IMPORT: &str = "import";

/// The numbers of the names that mean something to the attribution wherever they occur.
#[derive(Clone, Copy)]
pub(crate) struct KnownNames {
    /// The phase of a backward pass on a thread to which the program's phase does not go.
    pub(crate) backward: Name,
    /// In the order of [`KnownNames::new`].
    derived: [Name; 4],
    accumulate_grad: Name,
    /// The phases in which most storages are allocated, all of them activations: those of a training step.
    of_activations: [Name; 3],
}

impl KnownNames {
    pub(crate) fn new(hooks: &impl Hooks) -> KnownNames {
        KnownNames {
            backward: hooks.name(BACKWARD),
            derived: [DerivedPhase::Forward, DerivedPhase::Backward, DerivedPhase::Optimizer, DerivedPhase::Infer]
                .map(|phase| hooks.name(phase.name())),
            accumulate_grad: hooks.name("torch::autograd::AccumulateGrad"),
            of_activations: ["forward", "loss", BACKWARD].map(|phase| hooks.name(phase)),
        }
    }

    /// The name of a derived phase.
    pub(crate) fn derived(&self, phase: DerivedPhase) -> Name {
        let [forward, backward, optimizer, infer] = self.derived;
        match phase {
            DerivedPhase::Forward => forward,
            DerivedPhase::Backward => backward,
            DerivedPhase::Optimizer => optimizer,
            DerivedPhase::Infer => infer,
        }
    }

    /// What a storage is for that is allocated in the scope `current`.
    pub(crate) fn category(&self, hooks: &impl Hooks, current: Current) -> Category {
        if current.op == self.accumulate_grad {
            return Category::Gradient;
        }
        if current.phase == Name(0) || self.of_activations.contains(&current.phase) {
            return Category::Activation;
        }
        match work(hooks, current.phase) {
            "data" => Category::Input,
            OPTIMIZER => Category::OptimizerState,
            "init" | "runtime" | COMPILE | IMPORT => Category::Other,
            _ => Category::Activation,
        }
    }
}

/// What is done in a phase: the last part of its name. A training step with several passes has phases of one work, and
/// names them apart by what stands before it: `generator/optimizer` and `discriminator/optimizer` are both `optimizer`.
pub(crate) fn work(hooks: &impl Hooks, phase: Name) -> &'static str {
    work_of(hooks.text(phase))
}
