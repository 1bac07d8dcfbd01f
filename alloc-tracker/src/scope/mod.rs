//! Scopes as programs see them: RAII guards for phases and layers, and their hand-over to threads and futures.
mod carry;
mod guard;
pub mod hooks;

pub use carry::{Captured, Instrumented, capture};
pub use guard::{ScopeGuard, layer, phase};
pub(crate) use guard::{as_tracker, too_deep};
