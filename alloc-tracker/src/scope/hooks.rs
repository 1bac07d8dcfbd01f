//! For crates that instrument a framework, as `alloc-torch` does libtorch: scopes by number, operators, blocks by
//! address. Programs use the guards.
use alloc_timeline::Category;

use super::guard::derive;
use crate::door::label;
use crate::ledger::pool;
use crate::tag::scope::{self, NameId, Parts};

/// The number of a phase, layer or operator name. 0 is the empty name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Name(pub NameId);

/// An entered scope, to be left with [`leave`] on the same thread.
#[derive(Clone, Copy, Debug)]
pub struct Entered(Option<(usize, u32)>);

/// The number of `text`; the same for the same text for the whole life of the process.
pub fn name(text: &str) -> Name {
    let intern = || scope::name(text);
    Name(pool::acquire().map_or_else(intern, |slot| super::guard::as_tracker(slot, intern)))
}

/// Enters an operator on this thread; with a layer, in that layer instead of the active one; in `phase` when no phase is
/// active. `call` is a number of its own for each call of an outermost operator: blocks freed in the call that made them
/// are workspace.
pub fn enter_op(op: Name, layer: Option<Name>, phase: Name, call: u64) -> Entered {
    let change = |parts: Parts| Parts {
        phase: if parts.phase == 0 { phase.0 } else { parts.phase },
        layer: layer.map_or(parts.layer, |layer| layer.0),
        op: op.0,
    };
    let entered = derive(change).and_then(|scope| pool::acquire()?.enter(scope));
    label::set_op_call(call);
    Entered(entered)
}

/// Leaves an operator.
pub fn leave(entered: Entered) {
    label::set_op_call(0);
    if let (Some(entered), Some(slot)) = (entered.0, pool::acquire()) {
        slot.leave(entered);
    }
}

/// The layer that is active on this thread.
pub fn current_layer() -> Name {
    Name(pool::acquire().map_or(0, |slot| scope::parts(slot.scope()).layer))
}

/// The layer that allocated the block at `block`; `None` for addresses at which no tracked block starts.
pub fn layer_of(block: *const u8) -> Option<Name> {
    label::owner(block).map(|owner| Name(scope::parts(owner).layer))
}

/// Whether a tracked block starts at `block`.
pub fn is_tracked(block: *const u8) -> bool {
    label::owner(block).is_some()
}

/// Usable and requested bytes of the tracked block at `block`.
pub fn sizes_of(block: *const u8) -> Option<(usize, usize)> {
    label::sizes(block)
}

/// Says that the next aligned block that this thread allocates is a tensor's storage, or takes that back: its category
/// then follows from the phase and the operator that made it.
pub fn expect_storage(expected: bool) {
    label::expect_storage(expected);
}

/// Says what the block at `block` is for, for its whole life; a block that was allocated in no layer becomes `layer`'s, if
/// one is given. `false` when nobody takes it in: no such block, a block of less than 64 bytes, or no session.
pub fn label(block: *mut u8, category: Category, layer: Option<Name>) -> bool {
    label::label(block, category, layer.unwrap_or_default().0)
}

/// Whether this process is tracked at all (`ALLOC_TRACKER=off` says no).
pub fn is_on() -> bool {
    crate::mode::mode() != crate::mode::Mode::Off
}
