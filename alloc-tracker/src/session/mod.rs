//! Sessions: the recordings that a program starts and finishes. A process has one session at a time.
mod error;
mod fact;
mod step_state;

mod active;

pub mod derived_steps;
mod handle;

mod builder;

pub use active::{Report, forked};
pub use builder::SessionBuilder;
pub use error::SessionError;
pub use fact::Fact;
pub use handle::{Session, StepGuard};
