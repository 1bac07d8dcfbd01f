//! Scope numbers: phases, layers and operators as names, a scope as three of them, each numbered once.
//!
//! Two tables of the same make: entries are appended and never change or move, and an open-addressed index of atomic
//! numbers finds them. Nothing here locks, so a fork, a signal handler or a thread that dies in the middle can leave at
//! worst an unused number; a number below the count has its entry. Both are bounded; what does not fit any more is `other scopes`, and counted.
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use alloc_timeline::Scope;

/// A scope's number.
pub type ScopeId = u16;
/// A name's number; 0 is the empty name.
pub type NameId = u32;

/// Scope numbers are below this: 15 bits less the three values of an entry that are no scope's tag.
pub const MAX_SCOPES: usize = (1 << 15) - 3;
/// Name numbers are below this.
pub const MAX_NAMES: usize = 1 << 16;
/// No phase, no layer, no operator.
pub const NOBODY: ScopeId = 0;
/// The tracker's own memory; never part of the program's live bytes.
pub const TRACKER: ScopeId = 1;
/// Everything before `main`.
pub const RUNTIME: ScopeId = 2;
/// What found no place in the table.
pub const OTHER_SCOPES: ScopeId = 3;
/// What [`OTHER_SCOPES`] and names beyond the table's size are called.
pub const OTHER_NAME: &str = "other scopes";
const OTHER_NAME_ID: NameId = 3;
/// Names and scopes that have their numbers from the start: the scope of that number is the phase of that name.
const RESERVED: [&str; 4] = ["", "tracker", "runtime", OTHER_NAME];

/// The three names of a scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parts {
    /// Phase.
    pub phase: NameId,
    /// Layer path.
    pub layer: NameId,
    /// Operator.
    pub op: NameId,
}

/// An append-only table: number -> entry, and an index from an entry's hash to its number.
struct Table<T: 'static, const N: usize, const INDEX: usize> {
    entries: [AtomicPtr<T>; N],
    index: [AtomicU32; INDEX],
    next: AtomicU32,
}

impl<T: 'static, const N: usize, const INDEX: usize> Table<T, N, INDEX> {
    const fn new() -> Self {
        Table {
            entries: [const { AtomicPtr::new(ptr::null_mut()) }; N],
            index: [const { AtomicU32::new(0) }; INDEX],
            next: AtomicU32::new(RESERVED.len() as u32),
        }
    }

    fn get(&self, number: u32) -> Option<&'static T> {
        let entry = self.entries.get(number as usize)?.load(Ordering::Acquire);
        // SAFETY: entries are null or leaked boxes (`append`), valid for the rest of the process.
        unsafe { entry.as_ref() }
    }

    fn len(&self) -> u32 {
        self.next.load(Ordering::Acquire).min(N as u32)
    }

    /// The number of the entry that `is` recognises; without one, of a fresh entry from `make`. `None` when full.
    fn intern(&self, hash: u64, is: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> Option<u32> {
        let mut slot = hash as usize % INDEX;
        let mut fresh: Option<u32> = None;
        let mut make = Some(make);
        for _ in 0..INDEX {
            // The index holds number + 1; 0 is an empty slot.
            let held = self.index[slot].load(Ordering::Acquire);
            if held != 0 {
                if self.get(held - 1).is_some_and(&is) {
                    return Some(held - 1);
                }
                slot = (slot + 1) % INDEX;
                continue;
            }
            let number = match fresh {
                Some(number) => number,
                None => self.append(make.take()?())?,
            };
            fresh = Some(number);
            if self.index[slot].compare_exchange(0, number + 1, Ordering::AcqRel, Ordering::Acquire).is_ok() {
                return Some(number);
            }
            // Somebody else took the slot: look at what they put there. If it is the same entry, ours stays unused.
        }
        None
    }

    /// Puts the entry into the first place that is free. The table grows over places that are taken, never over one that
    /// somebody is about to fill: whoever finds the last one taken grows it, too.
    fn append(&self, entry: T) -> Option<u32> {
        let entry = Box::into_raw(Box::new(entry));
        loop {
            let number = self.next.load(Ordering::Acquire);
            let Some(place) = self.entries.get(number as usize) else {
                // SAFETY: nobody else has seen the box.
                drop(unsafe { Box::from_raw(entry) });
                return None;
            };
            let taken = place.compare_exchange(ptr::null_mut(), entry, Ordering::AcqRel, Ordering::Acquire);
            // Where this fails somebody else has done it.
            let _ = self.next.compare_exchange(number, number + 1, Ordering::AcqRel, Ordering::Acquire);
            if taken.is_ok() {
                return Some(number);
            }
        }
    }
}

static NAMES: Table<String, MAX_NAMES, { 2 * MAX_NAMES }> = Table::new();
static SCOPES: Table<Parts, MAX_SCOPES, { 2 * MAX_SCOPES + 1 }> = Table::new();
static OVERFLOWED: AtomicU64 = AtomicU64::new(0);

fn hash(value: &(impl std::hash::Hash + ?Sized)) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

/// The number of a phase, layer or operator name.
pub fn name(text: &str) -> NameId {
    match RESERVED.iter().position(|&reserved| reserved == text) {
        Some(number) => number as NameId,
        None => intern_name(text),
    }
}

/// The number of a scope.
pub fn scope(parts: Parts) -> ScopeId {
    match parts {
        Parts { phase, layer: 0, op: 0 } if (phase as usize) < RESERVED.len() => phase as ScopeId,
        _ => intern_parts(parts),
    }
}

fn intern_name(text: &str) -> NameId {
    NAMES.intern(hash(text), |held| held == text, || text.to_owned()).unwrap_or_else(|| {
        OVERFLOWED.fetch_add(1, Ordering::Relaxed);
        OTHER_NAME_ID
    })
}

fn intern_parts(parts: Parts) -> ScopeId {
    let number = SCOPES.intern(hash(&parts), |held| *held == parts, || parts);
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
        made => SCOPES.get(made.into()).copied().unwrap_or_default(),
    }
}

/// The text of a name.
pub fn text(name: NameId) -> &'static str {
    match RESERVED.get(name as usize) {
        Some(reserved) => reserved,
        None => NAMES.get(name).map_or("", String::as_str),
    }
}

/// How many scopes there are; their numbers are below this.
pub fn count() -> usize {
    SCOPES.len() as usize
}

/// How often a scope or a name found no place.
pub fn overflowed() -> u64 {
    OVERFLOWED.load(Ordering::Relaxed)
}

/// The addresses that the tables occupy.
pub fn ranges() -> [(usize, usize); 2] {
    let (names, scopes) = (ptr::from_ref(&NAMES).addr(), ptr::from_ref(&SCOPES).addr());
    [(names, names + size_of_val(&NAMES)), (scopes, scopes + size_of_val(&SCOPES))]
}

/// The scope as the file has it.
pub fn describe(scope: ScopeId) -> Scope {
    let Parts { phase, layer, op } = parts(scope);
    Scope { phase: text(phase).to_owned(), layer: text(layer).to_owned(), op: text(op).to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    /// The recorder writes down what each scope is called as soon as it is counted, once.
    #[test]
    fn what_is_counted_is_there() {
        static TABLE: Table<u32, 100_000, 200_001> = Table::new();
        std::thread::scope(|threads| {
            let makers: Vec<_> =
                (0..2).map(|_| threads.spawn(|| (0..40_000).map(|entry| TABLE.append(entry)).max())).collect();
            while makers.iter().any(|maker| !maker.is_finished()) {
                let latest = TABLE.len() - 1;
                assert!(latest < RESERVED.len() as u32 || TABLE.get(latest).is_some(), "{latest}");
            }
        });
        assert_eq!(TABLE.len(), 80_000 + RESERVED.len() as u32);
        assert!((RESERVED.len() as u32..TABLE.len()).all(|number| TABLE.get(number).is_some()));
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
