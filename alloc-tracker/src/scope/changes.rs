//! What entering a phase or a layer makes of a scope. A program enters the same ones again and again, so each answer is kept,
//! and finding it allocates nothing.
use std::hash::{BuildHasher, BuildHasherDefault};
use std::ptr;

use alloc_replay::{OTHER_SCOPES, Parts, ScopeId};
use rustc_hash::FxHasher;

use super::names::{self, INDEX, MAX_SCOPES};
use super::table::Table;

/// What is entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A phase: it replaces the one around it.
    Phase,
    /// A layer below the active one.
    Layer,
    /// A layer by its whole path.
    LayerAlone,
}

/// Entering `name` in `from` leads to `to`.
struct Known {
    from: ScopeId,
    change: Change,
    name: String,
    to: ScopeId,
}

static KNOWN: Table<Known, MAX_SCOPES, INDEX> = Table::new(0);

fn hash(from: ScopeId, change: Change, name: &str) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one((from, change, name))
}

fn is(known: &Known, from: ScopeId, change: Change, name: &str) -> bool {
    known.from == from && known.change == change && known.name == name
}

/// The scope that entering `name` in the scope `from` leads to, if somebody did so before. Allocates nothing.
pub fn known(from: ScopeId, change: Change, name: &str) -> Option<ScopeId> {
    KNOWN.find(hash(from, change, name), |known| is(known, from, change, name)).map(|known| known.to)
}

/// The scope that entering `name` in the scope `from` leads to. Allocates, which is the tracker's memory.
pub fn learn(from: ScopeId, change: Change, name: &str) -> ScopeId {
    let parts = names::parts(from);
    let to = names::scope(match change {
        Change::Phase => Parts { phase: names::name(name), ..parts },
        Change::Layer if parts.layer != 0 => {
            Parts { layer: names::name(&format!("{}.{name}", names::text(parts.layer))), ..parts }
        }
        Change::Layer | Change::LayerAlone => Parts { layer: names::name(name), ..parts },
    });
    // What found no room in a table is looked for each time, so that it is counted each time.
    if to != OTHER_SCOPES {
        let make = || Known { from, change, name: name.to_owned(), to };
        KNOWN.intern(hash(from, change, name), |known| is(known, from, change, name), make);
    }
    to
}

/// The addresses that the table occupies.
pub fn range() -> (usize, usize) {
    let start = ptr::from_ref(&KNOWN).addr();
    (start, start + size_of_val(&KNOWN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_entered_before_is_known() {
        let from = names::scope(Parts { layer: names::name("changes.outer"), ..Parts::default() });
        assert_eq!(known(from, Change::Layer, "changes.inner"), None);
        let to = learn(from, Change::Layer, "changes.inner");
        assert_eq!(names::describe(to).layer, "changes.outer.changes.inner");
        assert_eq!(known(from, Change::Layer, "changes.inner"), Some(to));
        assert_eq!(learn(from, Change::Layer, "changes.inner"), to);
    }

    /// A phase, a layer and a layer by its path have different answers, also of one name in one scope.
    #[test]
    fn what_is_entered_counts() {
        let from = names::scope(Parts { layer: names::name("changes.around"), ..Parts::default() });
        let described = |change| {
            let scope = names::describe(learn(from, change, "changes.name"));
            (scope.phase, scope.layer)
        };
        let pair = |phase: &str, layer: &str| (phase.to_owned(), layer.to_owned());
        assert_eq!(described(Change::Phase), pair("changes.name", "changes.around"));
        assert_eq!(described(Change::Layer), pair("", "changes.around.changes.name"));
        assert_eq!(described(Change::LayerAlone), pair("", "changes.name"));
        assert_eq!(known(0, Change::LayerAlone, "changes.name"), None, "in another scope nobody entered it");
    }
}
