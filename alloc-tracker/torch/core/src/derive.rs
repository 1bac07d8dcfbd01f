//! Which phase an operator runs in that the program gave none.
//!
//! ```text
//! what libtorch tells of the operator                                  its phase
//! it runs inside the autograd engine                                   backward
//! gradients are on, and a tensor that it takes needs one               forward
//! it takes only parameters, gradients and what an optimizer made       optimizer
//! gradients are off                                                    infer
//! anything else, such as making a batch                                none
//! ```
//!
//! An optimizer is told by what it works on and not by its name, so that an optimizer of the program's own is one as well. A
//! gradient is a storage that a backward pass left behind; a parameter is a storage that was given a gradient. Not told apart
//! from an optimizer is a program that looks at its parameters or gradients alone, their norm say; and storage that an
//! optimizer makes of nothing (`aten::zeros`, not `aten::zeros_like`) is not known for its own.
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use alloc_tracker::DerivedPhase;
use alloc_tracker::hooks::Name;
use dashmap::DashMap;

use crate::category::{BACKWARD, KnownNames, OPTIMIZER, work};
use crate::event::{Gradient, Operator, Storage};
use crate::hooks::Hooks;

const NAMESPACE: &[u8] = b"aten::";

/// Operators whose results never need a gradient, without their namespace, sorted. So do those that end in `_like`.
const WITHOUT_GRADIENT: [&str; 24] = [
    "_local_scalar_dense",
    "allclose",
    "any",
    "argmax",
    "argmin",
    "argsort",
    "bincount",
    "data",
    "detach",
    "detach_",
    "eq",
    "equal",
    "ge",
    "gt",
    "is_nonzero",
    "isfinite",
    "isnan",
    "item",
    "le",
    "lt",
    "ne",
    "nonzero",
    "requires_grad_",
    "set_data",
];

/// The storages that were given a gradient, each with the phase in which it was allocated: a parameter that moved leaves its
/// address to others, which as a rule are allocated in another phase.
pub(crate) struct Trained {
    phases: LazyLock<DashMap<Storage, Option<Name>>>,
    /// Whether there is one: a program that trains nothing need not look.
    is_any: AtomicBool,
}

impl Trained {
    pub(crate) const fn new() -> Trained {
        Trained { phases: LazyLock::new(DashMap::new), is_any: AtomicBool::new(false) }
    }

    /// An `AccumulateGrad` node works for this parameter.
    pub(crate) fn insert(&self, hooks: &impl Hooks, parameter: Storage) {
        let phase = hooks.phase_of(parameter);
        if !self.has(parameter, phase) {
            self.phases.insert(parameter, phase);
            self.is_any.store(true, Ordering::Relaxed);
        }
    }

    /// Whether a storage that was allocated in this phase was given a gradient.
    fn has(&self, storage: Storage, phase: Option<Name>) -> bool {
        self.phases.get(&storage).is_some_and(|known| *known == phase)
    }
}

/// The phase of an operator that runs outside of the autograd engine; `None` when nothing tells it.
pub(crate) fn phase_of(
    hooks: &impl Hooks,
    names: &KnownNames,
    trained: &Trained,
    operator: &Operator<'_>,
) -> Option<DerivedPhase> {
    match operator.gradient {
        Gradient::NotTold => None,
        Gradient::ToCome if !is_without_gradient(operator.name) => Some(DerivedPhase::Forward),
        _ if is_optimizers(hooks, names, trained, operator.inputs) => Some(DerivedPhase::Optimizer),
        Gradient::Off => Some(DerivedPhase::Infer),
        Gradient::ToCome | Gradient::None => None,
    }
}

fn is_without_gradient(operator: &[u8]) -> bool {
    let Some(name) = operator.strip_prefix(NAMESPACE) else { return false };
    name.ends_with(b"_like") || WITHOUT_GRADIENT.binary_search_by(|known| known.as_bytes().cmp(name)).is_ok()
}

/// Whether all storages are an optimizer's to work on, and there is one. Before anything was trained there is none.
fn is_optimizers(hooks: &impl Hooks, names: &KnownNames, trained: &Trained, inputs: &[Storage]) -> bool {
    if !trained.is_any.load(Ordering::Relaxed) || inputs.is_empty() {
        return false;
    }
    let of_forward = [DerivedPhase::Forward, DerivedPhase::Infer].map(|phase| names.derived(phase));
    let is = |storage: Storage| {
        let phase = hooks.phase_of(storage);
        // What most operators take was made in one of these; no text needs to be looked at for that.
        let is_its_own = phase.filter(|phase| *phase != Name(0) && !of_forward.contains(phase));
        is_its_own.is_some_and(|phase| matches!(work(hooks, phase), BACKWARD | OPTIMIZER))
            || trained.has(storage, phase)
    };
    inputs.iter().all(|&storage| is(storage))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_sorted() {
        assert!(WITHOUT_GRADIENT.is_sorted());
    }

    #[test]
    fn what_never_needs_a_gradient_is_known_by_name() {
        let is = |name: &str| is_without_gradient(name.as_bytes());
        assert_eq!(["aten::item", "aten::zeros_like", "aten::argmax"].map(is), [true; 3]);
        assert_eq!(["aten::conv2d", "item", "my::argmax", "aten::relu_"].map(is), [false; 4]);
    }
}
