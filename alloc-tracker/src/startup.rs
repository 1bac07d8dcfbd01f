//! Start-up and forks: the functions that run before `main`, and before and after each fork.
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use alloc_replay::{NOBODY, RUNTIME};

use crate::event::ring;
use crate::ledger::{self, publish, stopwatch, tables};
use crate::sys::{last_thread, stream_lock};
use crate::{backend, recorder, session, shared_memory};

/// An entry in the executable's list of functions that the loader calls before `main`, after those of the shared
/// libraries.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
static BEFORE_MAIN: extern "C" fn() = before_main;

/// Whether [`start_up`] has run.
static STARTED: AtomicBool = AtomicBool::new(false);

extern "C" fn before_main() {
    start_up();
}

/// What must be done before `main`; does nothing the second time. A library that starts a session before `main` calls it
/// first, because the loader's order within one library is that of the linker.
pub fn start_up() {
    tables::keep_pages_small();
    if STARTED.swap(true, Ordering::Relaxed) {
        return;
    }
    ledger::main_begins();
    watch_forks();
    // On the first call jemalloc allocates what it needs for the answer. Later there might be no memory for that.
    let _ = backend::owns(ptr::null());
    // If the main thread got its slot before this, it started in the runtime's scope. What it allocates from now on is
    // not the runtime's.
    if let Some(slot) = ledger::acquire()
        && slot.scope() == RUNTIME
    {
        slot.select(NOBODY);
    }
}

/// Registers the functions below, to be called around each fork.
fn watch_forks() {
    // jemalloc registers its own fork handlers when it allocates its first block. They must be registered before these,
    // so that in the child they run first, and the child can allocate when these run.
    drop(std::hint::black_box(Box::new(0u8)));
    stream_lock::find_lock();
    // SAFETY: the functions have the signature that pthread_atfork asks for, and exist as long as the process.
    unsafe { libc::pthread_atfork(Some(before_fork), Some(after_fork_in_parent), Some(after_fork_in_child)) };
}

/// Runs before a fork, and before the allocator's own handler. No thread may be reading the ring at the fork, so that
/// the child inherits a replay that is not in the middle of a change.
extern "C" fn before_fork() {
    stream_lock::hold();
    // One fork at a time comes to this.
    #[cfg(feature = "stacks")]
    crate::sampler::about_to_fork();
    recorder::hold_reading();
}

extern "C" fn after_fork_in_parent() {
    recorder::release_reading();
    stream_lock::release();
}

/// Runs in a forked child. No session records there; the child inherits all counts, of scopes whose numbers are the parent's.
extern "C" fn after_fork_in_child() {
    stream_lock::reset();
    last_thread::forked();
    publish::reset();
    stopwatch::end();
    recorder::read_what_was_left();
    ring::reset();
    ledger::forked();
    shared_memory::forked();
    session::forked();
}
