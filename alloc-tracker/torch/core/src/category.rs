//! What a tensor storage is for, by the phase and the operator that allocate it; the names that say so, each numbered once
//! so that no text is compared while a storage is allocated.
use alloc_tracker::Category;
use alloc_tracker::hooks::{Current, Name};

use crate::hooks::Hooks;

/// The numbers of the names that mean something to the attribution.
#[derive(Clone, Copy)]
pub(crate) struct KnownNames {
    /// The phase of a backward pass that the program gives no phase.
    pub(crate) backward: Name,
    accumulate_grad: Name,
    data: Name,
    /// The phase in which parameters are updated.
    pub(crate) optimizer: Name,
    init: Name,
    runtime: Name,
}

impl KnownNames {
    pub(crate) fn new(hooks: &impl Hooks) -> KnownNames {
        KnownNames {
            backward: hooks.name("backward"),
            accumulate_grad: hooks.name("torch::autograd::AccumulateGrad"),
            data: hooks.name("data"),
            optimizer: hooks.name("optimizer"),
            init: hooks.name("init"),
            runtime: hooks.name("runtime"),
        }
    }

    /// What a storage is for that is allocated in the scope `current`.
    pub(crate) fn category(&self, current: Current) -> Category {
        match current.phase {
            _ if current.op == self.accumulate_grad => Category::Gradient,
            phase if phase == self.data => Category::Input,
            phase if phase == self.optimizer => Category::OptimizerState,
            phase if phase == self.init || phase == self.runtime => Category::Other,
            _ => Category::Activation,
        }
    }
}
