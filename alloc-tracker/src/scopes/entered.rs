//! An entry into a scope as plain data, for code that cannot keep a guard.
use alloc_replay::NameId;

use crate::door::label;
use crate::ledger;

/// An entered phase, layer or operator, to be left with [`leave`](super::hooks::leave) on the same thread. It is plain data
/// and not a guard, so that a framework's callbacks can keep it on their own side.
///
/// ```
/// use alloc_tracker::hooks::{Entered, Name, enter_op, leave, name};
///
/// let entered: Entered = enter_op(name("my::relu"), None, Name::default(), 1);
/// leave(entered);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Entered {
    pub(super) scope: Option<ledger::Entered>,
    /// The phase, if one was entered; 0 otherwise.
    pub(super) phase: NameId,
    /// The call that ran before, of an operator around this one.
    pub(super) call_around: u64,
}

impl Entered {
    /// No entry: leaving it leaves nothing.
    ///
    /// ```
    /// use alloc_tracker::hooks::{self, Entered};
    ///
    /// let _layer = alloc_tracker::layer!("conv1");
    /// hooks::leave(Entered::nothing());
    /// assert_eq!(hooks::current().layer, hooks::name("conv1"));
    /// ```
    pub fn nothing() -> Self {
        Entered { scope: None, phase: 0, call_around: label::op_call() }
    }

    /// The entry in two numbers, for whoever keeps it outside of Rust.
    ///
    /// ```
    /// use alloc_tracker::hooks::{self, Entered};
    ///
    /// let numbers = hooks::enter_layer("conv1").numbers();
    /// hooks::leave(Entered::of_numbers(numbers));
    /// assert_eq!(hooks::current(), hooks::Current::default());
    /// ```
    pub fn numbers(self) -> [u64; 2] {
        // There are at most 65,536 names, and scopes are at most 256 deep: 16 bits each, and 32 of the serial number.
        let scope = self.scope.map_or(0, |scope| {
            let (depth, serial) = scope.numbers();
            (u64::from(serial) << 32) | (u64::from(depth) + 1)
        });
        [scope | (u64::from(self.phase as u16) << 16), self.call_around]
    }

    /// The entry of these [`numbers`](Self::numbers). Zeroes are those of nothing that was entered.
    pub fn of_numbers([scope, call_around]: [u64; 2]) -> Self {
        let depth = (scope as u16).checked_sub(1);
        let entered = depth.map(|depth| ledger::Entered::of_numbers((depth, (scope >> 32) as u32)));
        Entered { scope: entered, phase: u32::from((scope >> 16) as u16), call_around }
    }
}

#[cfg(test)]
mod tests {
    use super::super::hooks;
    use super::*;

    /// Tasks of one thread take turns, so their scopes need not be left in the order in which they were entered.
    #[test]
    fn a_scope_that_is_left_late_leaves_no_operator_behind() {
        let operator = hooks::enter_op(hooks::name("late::first"), None, hooks::Name::default(), 7);
        let layer = hooks::enter_layer("late");
        let nothing = Entered::nothing();
        assert!(hooks::is_in_op());
        hooks::leave(operator);
        assert!(!hooks::is_in_op());
        hooks::leave(layer);
        hooks::leave(nothing);
        assert!(!hooks::is_in_op(), "the layer was left with the operator around it");
    }

    #[test]
    fn an_operator_that_is_nested_too_deep_is_not_entered() {
        let layers: Vec<Entered> = (0..300).map(|_| hooks::enter_layer_alone("deep")).collect();
        let operator = hooks::enter_op(hooks::name("deep::op"), None, hooks::Name::default(), 7);
        assert!(!hooks::is_in_op());
        hooks::leave(operator);
        layers.into_iter().rev().for_each(hooks::leave);
        assert_eq!(hooks::current(), hooks::Current::default());
    }
}
