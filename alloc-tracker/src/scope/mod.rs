//! Scopes as numbers, and the names that the numbers stand for.
mod table;

mod names;

pub use names::{
    Interned, LayerKind, MAX_NAMES, MAX_SCOPES, count, describe, describe_layer, layer_kinds, name, overflowed, parts,
    ranges, scope, text,
};
