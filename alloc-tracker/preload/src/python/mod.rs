//! What is told of CPython: whose modules it imports, the arenas of its objects, and its frames in sampled stacks.
//!
//! ```text
//! Python: _frames.py, at the start: functions, generators, callbacks, of which it knows the frames
//!   |
//!   v
//! trial.rs ----- layout.rs: where the fields stand in this version
//!    |
//!    \- shown to be right -> announced to the tracker
//!
//! a sample -> walk.rs: the thread's frames ----- thread.rs: whose they are, and whether they hold still
//!                \- code.rs: what names each function is kept at its first sample
//! the end  -> call.rs: names and lines (lines.rs) out of that
//! ```
//!
//! Nothing of Python's runs for a sample but functions that read two words.
#[cfg(feature = "stacks")]
mod layout;
#[cfg(feature = "stacks")]
mod lines;
#[cfg(feature = "stacks")]
mod thread;

#[cfg(feature = "stacks")]
mod code;

#[cfg(feature = "stacks")]
mod walk;

#[cfg(feature = "stacks")]
mod call;

#[cfg(feature = "stacks")]
mod trial;

mod arenas;
mod imports;
