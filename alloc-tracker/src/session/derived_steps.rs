//! Steps of a program that does not say where its steps begin. Crates that instrument a framework tell of operators in
//! [derived phases](DerivedPhase); a step begins with the first operator that has a gradient to come, and ends as the next
//! such operator follows on an optimizer's, or with the session. So what a program does between an optimizer and the next
//! forward pass, such as reading a batch, is of the step before.
//!
//! As soon as the program begins a step itself ([`Session::step`](crate::Session::step)), none is derived any more in that
//! session.
use alloc_replay::Event;
use alloc_timeline::DerivedPhase;

use super::{active, step_state};
use crate::recorder::StepClock;

/// An operator starts on this thread, in a phase that was derived. Does nothing without a session.
///
/// ```
/// use alloc_tracker::{DerivedPhase, derived_steps};
///
/// derived_steps::operator_starts(DerivedPhase::Forward);
/// ```
pub fn operator_starts(phase: DerivedPhase) {
    match phase {
        DerivedPhase::Forward if step_state::forward_runs() => {
            active::time_step(StepClock::begin_derived);
            step_state::tell(&Event::DerivedStepBegan);
        }
        DerivedPhase::Optimizer => step_state::optimizer_runs(),
        _ => {}
    }
}
