//! The allocator under the tracker, whichever it is: its name, its settings, and what it says of itself.
use std::collections::BTreeMap;

use alloc_timeline::Allocator;

use super::{Probed, glibc, jemalloc};
use crate::door::backend::{self, Backend};

/// Who answers, for the head of the file.
pub(crate) fn allocator() -> Allocator {
    if let Some(name) = backend::over() {
        let unknown = "unavailable: an allocator under `Over` tells nothing of itself";
        let config = BTreeMap::from([("statistics".to_owned(), unknown.to_owned())]);
        return Allocator { backend: name.to_owned(), version: String::new(), config, doors: Vec::new() };
    }
    match backend::backend() {
        Backend::Jemalloc => jemalloc::allocator(),
        Backend::System => glibc::allocator(),
    }
}

/// Its statistics, for the columns of the samples; none where it has none.
pub fn read() -> Probed {
    match (backend::over(), backend::backend()) {
        (Some(_), _) => Vec::new(),
        (None, Backend::Jemalloc) => jemalloc::read(),
        (None, Backend::System) => glibc::read(),
    }
}

/// What it holds beyond the blocks that it has handed out, in bytes; `live` of them the tracker knows. `None` where it does
/// not tell.
pub fn beyond(live: u64) -> Option<u64> {
    match (backend::over(), backend::backend()) {
        (Some(_), _) => None,
        (None, Backend::Jemalloc) => {
            let (allocated, resident) = jemalloc::allocated_and_resident()?;
            Some(resident.saturating_sub(allocated))
        }
        (None, Backend::System) => Some(glibc::held()?.saturating_sub(live)),
    }
}
