//! The atomics of the event ring, of publication and of the replay's lock, and macros for the statics that hold them.
//!
//! The model checker loom puts its own versions in place of this module and runs the files that use it through all
//! interleavings (`tests/tests/models.rs`).
pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
pub use std::thread::yield_now;

/// Lets others run before the next look at what they hold, after so many looks: for a moment, and for a millisecond once that has not helped.
pub fn rest(looks: u32) {
    if looks < 1_000 { yield_now() } else { std::thread::sleep(std::time::Duration::from_millis(1)) }
}

/// A number of the calling thread, which no other that lives has; never 0.
pub fn thread_mark() -> u64 {
    // SAFETY: it takes nothing and cannot fail.
    unsafe { libc::pthread_self() as u64 }
}

/// Places in the event ring; a power of two. The model checker has fewer.
pub const RING_PLACES: u64 = 16 * 1024;

/// A cell that hands out raw pointers to its value. Code that reads or writes through such a pointer must itself make
/// sure that no other thread writes at the same time.
pub struct RawCell<T>(std::cell::UnsafeCell<T>);

// SAFETY: the methods only hand out pointers and touch no value; each place that reads or writes through a pointer has
// a SAFETY sentence of its own.
unsafe impl<T: Send> Sync for RawCell<T> {}

impl<T> RawCell<T> {
    /// A cell that holds `value`.
    pub const fn new(value: T) -> Self {
        RawCell(std::cell::UnsafeCell::new(value))
    }

    /// Calls `work` with a pointer for reading.
    #[inline(always)]
    pub fn with<R>(&self, work: impl FnOnce(*const T) -> R) -> R {
        work(self.0.get())
    }

    /// Calls `work` with a pointer for writing.
    #[inline(always)]
    pub fn with_mut<R>(&self, work: impl FnOnce(*mut T) -> R) -> R {
        work(self.0.get())
    }
}

/// Defines statics. (loom's version makes them anew for every interleaving.)
macro_rules! statics {
    ($($(#[$attribute:meta])* static $name:ident: $type:ty = $value:expr;)*) => {
        $($(#[$attribute])* static $name: $type = $value;)*
    };
}

/// An array that holds the same constant `$count` times.
macro_rules! filled {
    ($value:expr; $count:expr) => {
        [const { $value }; $count]
    };
}

pub(crate) use {filled, statics};
