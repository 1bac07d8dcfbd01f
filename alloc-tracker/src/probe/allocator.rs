//! The allocator under the tracker, whichever it is: its name, its settings and its statistics.
use std::collections::BTreeMap;

use alloc_timeline::Allocator;

use super::claims::Claims;
use super::counted::Counted;
use super::reading::Readings;
use super::smaps::{Kind, Mapping, Range};
use super::{glibc, jemalloc};
use crate::backend::{self, Backend};

/// Why an allocator of the program's own has no statistics.
const TELLS_NOTHING: &str = "unavailable: an allocator under `Over` tells nothing of itself";

/// The allocator's name, version and settings, for the timeline's head.
pub fn allocator() -> Allocator {
    if let Some(name) = backend::inner::name() {
        let config = BTreeMap::from([("statistics".to_owned(), TELLS_NOTHING.to_owned())]);
        return Allocator { backend: name.to_owned(), version: String::new(), config, doors: Vec::new() };
    }
    match backend::backend() {
        Backend::Jemalloc => jemalloc::allocator(),
        Backend::System => glibc::allocator(),
    }
}

/// The allocator's statistics, in bytes, for the columns of the samples; nothing where it has none.
pub fn read() -> Readings {
    match (backend::inner::name(), backend::backend()) {
        (Some(_), _) => Vec::new(),
        (None, Backend::Jemalloc) => jemalloc::read(),
        (None, Backend::System) => glibc::read(),
    }
}

/// What the allocator claims now; `counted` is the ledger of the same moment.
///
/// # Errors
/// A sentence, where the allocator has no statistics.
pub fn claims(counted: &Counted) -> Result<Claims, String> {
    match (backend::inner::name(), backend::backend()) {
        (Some(_), _) => Err(TELLS_NOTHING.to_owned()),
        (None, Backend::Jemalloc) => jemalloc::claims(),
        (None, Backend::System) => glibc::claims(counted.blocks),
    }
}

/// The sum of what the allocator claimed when [`read`] was last called; `None` where it has no statistics.
pub fn claimed_as_read() -> Option<u64> {
    match (backend::inner::name(), backend::backend()) {
        (Some(_), _) => None,
        (None, Backend::Jemalloc) => jemalloc::claimed_as_read(),
        (None, Backend::System) => glibc::claims(0).ok().map(|claims| claims.claimed),
    }
}

/// Whether the allocator never gives a mapping back, so that as long as no address space is added all are where they were.
pub fn keeps_mappings() -> bool {
    backend::inner::name().is_none() && backend::backend() == Backend::Jemalloc
}

/// The bytes of the mappings of an allocator that keeps them; `None` where it does not tell.
pub fn mapped() -> Option<u64> {
    if keeps_mappings() { jemalloc::mapped().ok() } else { None }
}

/// The bytes of the allocator's own tables, which lie in mappings apart from its blocks; `None` where it does not tell.
pub fn tables() -> Option<u64> {
    if keeps_mappings() { jemalloc::tables_mapped().ok() } else { None }
}

/// Whether an anonymous mapping of an allocator that keeps its mappings may be its own without looking so: then the kernel's
/// flags tell.
pub fn needs_flags(range: &Range) -> bool {
    jemalloc::has_form_of_base(range)
}

/// Whether the allocator's mappings can be told from the program's.
pub fn is_known() -> bool {
    backend::inner::name().is_none()
}

/// The parts of a mapping that are the allocator's. `known` are those that were found earlier; a list of mappings
/// without flags needs them.
pub fn ranges_in(mapping: &Mapping, has_flags: bool, known: &[Range]) -> Vec<Range> {
    let range = &mapping.range;
    let overlaps = |known: &Range| known.start < range.end && range.start < known.end;
    match (mapping.kind, backend::inner::name(), backend::backend()) {
        (_, Some(_), _) => Vec::new(),
        (Kind::Heap, None, Backend::System) => vec![range.clone()],
        (Kind::Anonymous, None, Backend::System) if mapping.writable => {
            let unreserved = if has_flags { mapping.unreserved } else { known.iter().any(overlaps) };
            glibc::ranges_in(range, unreserved)
        }
        (Kind::Anonymous, None, Backend::Jemalloc) if mapping.writable => {
            // Jemalloc keeps its mappings for ever, and a mapping of its own never merges with one of the program's.
            let own = known.iter().any(overlaps) || jemalloc::owns(range, mapping.unreserved);
            if own { vec![range.clone()] } else { Vec::new() }
        }
        _ => Vec::new(),
    }
}
