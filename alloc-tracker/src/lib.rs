//! A memory profiler as an allocator: every allocation of the process carries the phase, layer and operator that made
//! it, and a recording says to the byte who owned the memory at the peak.
//!
//! ```no_run
//! use alloc_interpose as _; // C and C++ too; without this line Rust's allocations only
//! # mod alloc_interpose {}
//! use alloc_tracker::{Session, layer, phase};
//!
//! #[global_allocator]
//! static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();
//!
//! fn main() -> Result<(), alloc_tracker::SessionError> {
//!     let session = Session::builder().output("run.timeline.json").start()?;
//!     {
//!         let _phase = phase!("forward");
//!         let _layer = layer!("conv1");
//!         // ...
//!     }
//!     session.finish()?;
//!     Ok(())
//! }
//! ```
//!
//! The way of an allocation, and of a reader through the modules: [`door`] (Rust's and C's) -> `tag` (scope numbers and
//! the shadow map) -> `ledger` (counts) -> `event` (one order for what must be ordered) -> `recorder` (replays the
//! events, takes in `probe`s) -> `session` (what programs start and finish). `docs/ARCHITECTURE.md` has the whole
//! picture, `docs/ACCURACY.md` says what each number means.
pub mod door;
mod event;
mod ledger;
mod mode;
mod probe;
mod recorder;
mod scope;
mod session;
mod stacks;
mod sys;
mod tag;

pub use alloc_timeline::Category;
pub use door::over::Over;
pub use door::rust::Tracker;
pub use probe::interposition::{interposition, untracked_objects};
pub use recorder::watch::{Approach, Expected, Then};
pub use scope::{Captured, Instrumented, ScopeGuard, capture, hooks, layer, phase};
pub use session::{Report, Session, SessionBuilder, SessionError};
