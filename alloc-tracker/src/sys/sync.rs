//! The atomics of the ring and of the hand-over between ring and totals, and the statics that hold them. A model checker
//! puts its own in place of this module and runs those very files through every interleaving (`tests/tests/models.rs`).
pub use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
pub use std::thread::yield_now;

/// Places in the event ring; a power of two. The model checker has fewer.
pub const RING_PLACES: u64 = 16 * 1024;

/// A value that whoever may touch it touches by pointer, and nobody else at that time.
pub struct Guarded<T>(std::cell::UnsafeCell<T>);

// SAFETY: handing out a pointer touches nothing; whoever follows it says why nobody else does.
unsafe impl<T: Send> Sync for Guarded<T> {}

impl<T> Guarded<T> {
    /// Holds `value`.
    pub const fn new(value: T) -> Self {
        Guarded(std::cell::UnsafeCell::new(value))
    }

    /// Gives `work` the value to read.
    #[inline(always)]
    pub fn with<R>(&self, work: impl FnOnce(*const T) -> R) -> R {
        work(self.0.get())
    }

    /// Gives `work` the value to change.
    #[inline(always)]
    pub fn with_mut<R>(&self, work: impl FnOnce(*mut T) -> R) -> R {
        work(self.0.get())
    }
}

/// Statics, written as always.
macro_rules! statics {
    ($($(#[$attribute:meta])* static $name:ident: $type:ty = $value:expr;)*) => {
        $($(#[$attribute])* static $name: $type = $value;)*
    };
}

/// An array with `$count` times the same constant in it.
macro_rules! filled {
    ($value:expr; $count:expr) => {
        [const { $value }; $count]
    };
}

pub(crate) use {filled, statics};
