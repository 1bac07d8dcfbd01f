//! Which allocator is the backend of this process.
use std::sync::atomic::{AtomicU8, Ordering};

use super::system;
use crate::settings::wants_system_backend;

/// The allocator under the tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Backend {
    /// jemalloc, as tikv-jemalloc-sys builds it.
    Jemalloc = 1,
    /// The C library's own allocator.
    System = 2,
}

static BACKEND: AtomicU8 = AtomicU8::new(0);
/// The value of `BACKEND` while the C library's functions are being looked up, which may allocate.
const LOOKING_UP: u8 = 3;

/// The backend of this process.
#[inline]
pub fn backend() -> Backend {
    match BACKEND.load(Ordering::Relaxed) {
        1 => Backend::Jemalloc,
        2 | LOOKING_UP => Backend::System,
        _ => decide(),
    }
}

#[cold]
fn decide() -> Backend {
    let system = wants_system_backend() && {
        BACKEND.store(LOOKING_UP, Ordering::Relaxed);
        system::prepare()
    };
    let backend = if system { Backend::System } else { Backend::Jemalloc };
    BACKEND.store(backend as u8, Ordering::Relaxed);
    backend
}

/// Whether the backend has been chosen. Blocks that are allocated during the choice are not counted, and are freed as
/// foreign blocks.
#[inline]
pub fn is_settled() -> bool {
    BACKEND.load(Ordering::Relaxed) != LOOKING_UP
}
