//! Names and scopes as numbers. Phases, layers and operators are numbered names; a scope is a numbered triple of names.
//!
//! In a forked child, whatever is alive was allocated in the parent, and the tags of those blocks have the parent's numbers. So the
//! child gives all scopes numbers of its own: the same names have a new number at each *fork depth*, which is the number of forks from
//! the first process to this one. A number of another fork depth than the process's own is *inherited*, and in the file its names say so.
//!
//! Both tables are bounded. When a table is full, a new name or scope gets the number of `other scopes`, and
//! [`overflowed`] counts that.
use std::hash::{BuildHasher, BuildHasherDefault};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use alloc_replay::{NameId, OTHER_SCOPES, Parts, RESERVED_NAMES as RESERVED, ScopeId, ScopeNames, TRACKER};
use alloc_timeline::{NONE, Scope, inherited_name};
use rustc_hash::FxHasher;

use super::table::Table;

/// The number of scopes; scope numbers are below it. A plain block's tag is 1 + scope, a number of 15 bits, of which
/// 0 and the highest 128 have another meaning in the shadow map (`tag/shadow.rs`): no tag, and wide tags.
pub const MAX_SCOPES: usize = (1 << 15) - 1 - 128;
/// The number of names; name numbers are below it.
pub const MAX_NAMES: usize = 1 << 16;
/// Places of an index of scopes: twice as many as there are scopes, and some.
pub const INDEX: usize = 1 << 16;
/// The number of the empty name.
const NO_NAME: NameId = 0;
/// The number that stands for all names which found no room in the table.
const OTHER_NAME_ID: NameId = OTHER_SCOPES as NameId;

static NAMES: Table<String, MAX_NAMES, { 2 * MAX_NAMES }> = Table::new(RESERVED.len() as u32);
/// The names of marks: a program may have a mark of another name in each step. Their numbers begin at [`MAX_NAMES`].
static MARKS: Table<String, MAX_NAMES, { 2 * MAX_NAMES }> = Table::new(1);
/// The number of the names of marks that found no room.
const OTHER_MARKS: NameId = MAX_NAMES as NameId;
static SCOPES: Table<Numbered, MAX_SCOPES, INDEX> = Table::new(RESERVED.len() as u32);
/// What layers are. As many as scopes, because a layer without a scope is none.
static LAYER_KINDS: Table<LayerKind, MAX_SCOPES, INDEX> = Table::new(0);
static OVERFLOWED: AtomicU64 = AtomicU64::new(0);
/// The fork depth of this process.
static FORK_DEPTH: AtomicU32 = AtomicU32::new(0);

/// A scope that has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Numbered {
    parts: Parts,
    fork_depth: u32,
}

fn hash(value: &(impl std::hash::Hash + ?Sized)) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(value)
}

/// The number of a phase, layer or operator name.
pub fn name(text: &str) -> NameId {
    known_name(text).unwrap_or_else(|| intern_name(text))
}

/// The number of a mark's name.
pub fn mark_name(text: &str) -> NameId {
    MARKS.intern(hash(text), |held| held == text, || text.to_owned()).map_or(OTHER_MARKS, |number| OTHER_MARKS + number)
}

/// The number of a phase, layer or operator name that has one already. Allocates nothing.
pub fn known_name(text: &str) -> Option<NameId> {
    // In files, and wherever names are shown, this stands for no name.
    if text == NONE {
        return Some(NO_NAME);
    }
    let interned = NAMES.find_number(hash(text), |held| held == text);
    interned.or_else(|| RESERVED.iter().position(|&reserved| reserved == text).map(|number| number as NameId))
}

/// The number of a scope.
pub fn scope(parts: Parts) -> ScopeId {
    known_scope(parts).unwrap_or_else(|| intern_scope(Numbered { parts, fork_depth: own_fork_depth() }))
}

/// The number of a scope that has one already. Allocates nothing.
pub fn known_scope(parts: Parts) -> Option<ScopeId> {
    known(Numbered { parts, fork_depth: own_fork_depth() })
}

fn known(scope: Numbered) -> Option<ScopeId> {
    match scope {
        // A phase of the program's may be called `tracker`, or `runtime`. It is none of the tracker's scopes.
        Numbered { parts: Parts { phase: phase @ (NO_NAME | OTHER_NAME_ID), layer: 0, op: 0 }, fork_depth: 0 } => {
            Some(phase as ScopeId)
        }
        _ => SCOPES.find_number(hash(&scope), |held| *held == scope).map(|number| number as ScopeId),
    }
}

/// The number of the scope of these parts whose blocks are as old as those of `scope`: inherited, or the process's own.
pub fn scope_as_old_as(scope: ScopeId, parts: Parts) -> ScopeId {
    let as_old = Numbered { parts, fork_depth: fork_depth(scope).unwrap_or_else(own_fork_depth) };
    known(as_old).unwrap_or_else(|| intern_scope(as_old))
}

/// The number that a scope has in this process, when it may be one of before a fork.
pub fn own(inherited: ScopeId) -> ScopeId {
    if is_inherited(inherited) { scope(parts(inherited)) } else { inherited }
}

/// To be called in a forked child: from now on, all numbers that are there are inherited.
pub fn forked() {
    FORK_DEPTH.fetch_add(1, Ordering::Relaxed);
}

fn own_fork_depth() -> u32 {
    FORK_DEPTH.load(Ordering::Relaxed)
}

/// The fork depth at which the blocks of a scope were allocated; `None` of those two scopes that are the same at each.
fn fork_depth(scope: ScopeId) -> Option<u32> {
    match scope {
        TRACKER | OTHER_SCOPES => None,
        reserved if usize::from(reserved) < RESERVED.len() => Some(0),
        interned => SCOPES.get(interned.into()).map(|held| held.fork_depth),
    }
}

/// Whether the blocks of a scope were allocated before the process was forked.
pub fn is_inherited(scope: ScopeId) -> bool {
    fork_depth(scope).is_some_and(|fork_depth| fork_depth != own_fork_depth())
}

fn intern_name(text: &str) -> NameId {
    NAMES.intern(hash(text), |held| held == text, || text.to_owned()).unwrap_or_else(|| {
        OVERFLOWED.fetch_add(1, Ordering::Relaxed);
        OTHER_NAME_ID
    })
}

fn intern_scope(scope: Numbered) -> ScopeId {
    let number = SCOPES.intern(hash(&scope), |held| *held == scope, || scope);
    number.map_or_else(
        || {
            OVERFLOWED.fetch_add(1, Ordering::Relaxed);
            OTHER_SCOPES
        },
        |number| number as ScopeId,
    )
}

/// The three names of a scope.
pub fn parts(scope: ScopeId) -> Parts {
    match scope {
        reserved if usize::from(reserved) < RESERVED.len() => Parts { phase: reserved.into(), layer: 0, op: 0 },
        interned => SCOPES.get(interned.into()).map(|held| held.parts).unwrap_or_default(),
    }
}

/// The text of a name.
pub fn text(name: NameId) -> &'static str {
    match RESERVED.get(name as usize) {
        Some(reserved) => reserved,
        None if name == OTHER_MARKS => "other marks",
        None if name > OTHER_MARKS => MARKS.get(name - OTHER_MARKS).map_or("", String::as_str),
        None => NAMES.get(name).map_or("", String::as_str),
    }
}

/// How many scopes there are; their numbers are below this.
pub fn count() -> usize {
    SCOPES.len() as usize
}

/// How often a scope or a name got no number of its own.
pub fn overflowed() -> u64 {
    OVERFLOWED.load(Ordering::Relaxed)
}

/// What a layer is, in words.
#[derive(Debug)]
pub struct LayerKind {
    /// The layer's name.
    pub layer: NameId,
    /// The words; empty: what was said before is taken back.
    pub kind: String,
}

/// Notes what a layer is. Said twice it is noted once; beyond the table's size it is passed over.
pub fn describe_layer(layer: NameId, kind: &str) {
    let is_same = |held: &LayerKind| held.layer == layer && held.kind == kind;
    LAYER_KINDS.intern(hash(&(layer, kind)), is_same, || LayerKind { layer, kind: kind.to_owned() });
}

/// What was said of layers, from number `first` on, in order.
pub fn layer_kinds(first: usize) -> impl Iterator<Item = &'static LayerKind> {
    (first as u32..LAYER_KINDS.len()).filter_map(|number| LAYER_KINDS.get(number))
}

/// The addresses that the tables occupy.
pub fn ranges() -> [(usize, usize); 4] {
    let (names, scopes) = (ptr::from_ref(&NAMES).addr(), ptr::from_ref(&SCOPES).addr());
    let (kinds, marks) = (ptr::from_ref(&LAYER_KINDS).addr(), ptr::from_ref(&MARKS).addr());
    [
        (names, names + size_of_val(&NAMES)),
        (scopes, scopes + size_of_val(&SCOPES)),
        (kinds, kinds + size_of_val(&LAYER_KINDS)),
        (marks, marks + size_of_val(&MARKS)),
    ]
}

/// The scope as it is written to the timeline's file.
pub fn describe(scope: ScopeId) -> Scope {
    Interned.describe(scope)
}

/// The tables of this process, as the source of names for a replay.
#[derive(Clone, Copy, Debug)]
pub struct Interned;

impl ScopeNames for Interned {
    /// Those of an inherited scope are marked. An operator only where there is one: it makes the bytes metadata.
    fn parts(&self, scope: ScopeId) -> Parts {
        let Parts { phase, layer, op } = parts(scope);
        if is_inherited(scope) {
            let marked = |part| name(&inherited_name(text(part)));
            Parts { phase: marked(phase), layer: marked(layer), op: if op == 0 { 0 } else { marked(op) } }
        } else {
            Parts { phase, layer, op }
        }
    }

    fn text(&self, name: NameId) -> &str {
        text(name)
    }

    fn scope_count(&self) -> usize {
        count()
    }
}

#[cfg(test)]
mod tests {
    use alloc_replay::{NOBODY, OTHER_NAME, RUNTIME};

    use super::*;

    #[test]
    fn marks_take_no_names_from_scopes() {
        let (names, mark) = (NAMES.len(), mark_name("after step 1"));
        assert_eq!((text(mark), mark_name("after step 1"), NAMES.len()), ("after step 1", mark, names));
        assert_eq!((text(OTHER_MARKS), name("(none)")), ("other marks", NO_NAME));
    }

    #[test]
    fn one_scope_one_number() {
        let parts = Parts { phase: name("forward"), layer: name("layer1.0.conv1"), op: 0 };
        let number = scope(parts);
        assert!(number > OTHER_SCOPES);
        assert_eq!(scope(parts), number);
        assert_eq!(describe(number).layer, "layer1.0.conv1");
    }

    #[test]
    fn the_reserved_scopes_have_their_numbers() {
        assert_eq!(describe(NOBODY), Scope::default());
        assert_eq!(describe(RUNTIME).phase, "runtime");
        assert_eq!(describe(OTHER_SCOPES).phase, OTHER_NAME);
    }

    /// A program that tracks objects may well have such phases.
    #[test]
    fn phases_of_the_programs_are_none_of_the_reserved_scopes() {
        for phase in ["tracker", "runtime"] {
            let number = scope(Parts { phase: name(phase), ..Parts::default() });
            assert!(number > OTHER_SCOPES, "{phase}: {number}");
            assert_eq!((describe(number).phase.as_str(), known_scope(parts(number))), (phase, Some(number)));
        }
    }

    #[test]
    fn threads_agree_on_numbers() {
        let numbers: Vec<Vec<u32>> = std::thread::scope(|threads| {
            let workers: Vec<_> =
                (0..4).map(|_| threads.spawn(|| (0..500).map(|i| name(&format!("racing {i}"))).collect())).collect();
            workers.into_iter().map(|worker| worker.join().expect("no panic")).collect()
        });
        assert!(numbers.iter().all(|other| other == &numbers[0]));
    }
}
