//! The tracker for C and C++: scopes, labels, steps, marks and sessions, as a table of functions that
//! `include/alloc_tracker.h` asks for by name.
//!
//! ```text
//! program, with the header: dlsym("alloc_tracker_api") --> Api     the library is there: preloaded or linked
//!                                                      \-> null    it is not: every function of the header does nothing
//! ```
//!
//! | file | what it has |
//! |---|---|
//! | `api.rs` | the table, and what each function promises |
//! | `scopes.rs` | phases, layers and operators |
//! | `blocks.rs` | what a block is for |
//! | `session.rs` | steps, marks, facts, dumps; a session's start and end |
//! | `text.rs` | texts of C |
//!
//! The header is made of `api.rs`, `scopes.rs`, `blocks.rs` and `include/inline.h` by cbindgen; `tests/header.rs` holds it to that.
mod text;

mod blocks;
mod scopes;
mod session;

mod api;

pub use api::{Api, alloc_tracker_api};
pub use blocks::{Category, IMPORT};
pub use scopes::Scope;
