//! The allocator under the tracker, whichever it is: its name, its settings and its statistics.
use std::collections::BTreeMap;

use alloc_timeline::Allocator;

use super::reading::Readings;
use super::{glibc, jemalloc};
use crate::backend::{self, Backend};

/// The allocator's name, version and settings, for the timeline's head.
pub fn allocator() -> Allocator {
    if let Some(name) = backend::inner::name() {
        let unknown = "unavailable: an allocator under `Over` tells nothing of itself";
        let config = BTreeMap::from([("statistics".to_owned(), unknown.to_owned())]);
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

/// The bytes that the allocator holds beyond the blocks that it has handed out; `live` is the tracker's sum of these
/// blocks. `None` where the allocator has no statistics.
pub fn beyond(live: u64) -> Option<u64> {
    match (backend::inner::name(), backend::backend()) {
        (Some(_), _) => None,
        (None, Backend::Jemalloc) => {
            let (allocated, resident) = jemalloc::allocated_and_resident()?;
            Some(resident.saturating_sub(allocated))
        }
        (None, Backend::System) => Some(glibc::held()?.saturating_sub(live)),
    }
}
