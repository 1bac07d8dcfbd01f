//! Scopes as numbers, and the names that the numbers stand for.
mod table;

mod names;

pub use names::{Interned, MAX_SCOPES, count, describe, name, overflowed, parts, ranges, scope, text};
