//! Scopes as numbers, and the names that the numbers stand for.
mod table;

mod names;

mod changes;

pub use changes::{Change, known as known_change, learn as learn_change};
pub use names::{
    Interned, LayerKind, MAX_NAMES, MAX_SCOPES, count, describe, describe_layer, forked, is_inherited, known_name,
    known_scope, layer_kinds, mark_name, name, overflowed, own, parts, scope, scope_as_old_as, text,
};

/// The addresses that the tables occupy.
pub fn ranges() -> [(usize, usize); 5] {
    let [names, scopes, kinds, marks] = names::ranges();
    [names, scopes, kinds, marks, changes::range()]
}
