//! Scopes as programs use them: guards for phases and layers, carrying a scope to other threads and into futures, and
//! hooks for crates that instrument a framework.
mod carry;
mod entered;
mod guard;
pub mod hooks;
mod site;

pub use carry::{Captured, Instrumented, capture};
pub use guard::{ScopeGuard, layer, phase, too_deep};
pub use site::Site;
