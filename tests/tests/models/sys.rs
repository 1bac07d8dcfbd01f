//! What the models have in place of the tracker's `sys`: loom's atomics. loom treats sequentially consistent accesses as weaker ones, but it
//! models sequentially consistent fences; so each such access stands between two fences.

/// A hint, which changes nothing that another thread could see.
pub fn prefetch_for_write<T>(_: &T) {}

pub fn now_ns() -> u64 {
    1
}

pub mod sync {
    pub use loom::cell::UnsafeCell;
    pub use loom::sync::atomic::{Ordering, fence};
    pub use loom::thread::yield_now;

    loom::thread_local! {
        /// At an address that no other thread has.
        static MARK: u8 = 0;
    }

    pub fn thread_mark() -> u64 {
        MARK.with(|mark| std::ptr::from_ref(mark).addr() as u64)
    }

    pub fn rest(_: u32) {
        yield_now();
    }

    pub const RING_PLACES: u64 = 2;

    fn ordered<R>(ordering: Ordering, access: impl FnOnce() -> R) -> R {
        let strong = ordering == Ordering::SeqCst;
        strong.then(|| fence(Ordering::SeqCst));
        let result = access();
        strong.then(|| fence(Ordering::SeqCst));
        result
    }

    macro_rules! atomic {
        ($name:ident, $of:ty) => {
            pub struct $name(loom::sync::atomic::$name);

            impl $name {
                pub fn new(value: $of) -> Self {
                    $name(loom::sync::atomic::$name::new(value))
                }

                pub fn load(&self, ordering: Ordering) -> $of {
                    ordered(ordering, || self.0.load(ordering))
                }

                pub fn store(&self, value: $of, ordering: Ordering) {
                    ordered(ordering, || self.0.store(value, ordering))
                }

                pub fn swap(&self, value: $of, ordering: Ordering) -> $of {
                    ordered(ordering, || self.0.swap(value, ordering))
                }

                pub fn compare_exchange(
                    &self,
                    from: $of,
                    to: $of,
                    ordering: Ordering,
                    failed: Ordering,
                ) -> Result<$of, $of> {
                    self.0.compare_exchange(from, to, ordering, failed)
                }
            }
        };
    }

    macro_rules! counter {
        ($name:ident, $of:ty) => {
            atomic!($name, $of);

            impl $name {
                pub fn fetch_add(&self, value: $of, ordering: Ordering) -> $of {
                    ordered(ordering, || self.0.fetch_add(value, ordering))
                }

                pub fn fetch_sub(&self, value: $of, ordering: Ordering) -> $of {
                    ordered(ordering, || self.0.fetch_sub(value, ordering))
                }
            }
        };
    }

    atomic!(AtomicBool, bool);
    counter!(AtomicU32, u32);
    counter!(AtomicU64, u64);

    loom::lazy_static! {
        /// Whether a signal handler forks after the next read of a cell. What follows is the child's.
        pub static ref FORKS_WHILE_READING: AtomicBool = AtomicBool::new(false);
    }

    /// The tracker's `RawCell` with loom's cell in it, which reports when two threads are inside at the same time.
    pub struct RawCell<T>(UnsafeCell<T>);

    // SAFETY: loom runs one thread at a time, and its cell panics when the accesses of two threads overlap.
    unsafe impl<T: Send> Sync for RawCell<T> {}

    impl<T> RawCell<T> {
        pub fn new(value: T) -> Self {
            RawCell(UnsafeCell::new(value))
        }

        pub fn with<R>(&self, work: impl FnOnce(*const T) -> R) -> R {
            let result = self.0.with(work);
            if FORKS_WHILE_READING.swap(false, Ordering::Relaxed) {
                crate::event::ring::reset();
            }
            result
        }

        pub fn with_mut<R>(&self, work: impl FnOnce(*mut T) -> R) -> R {
            self.0.with_mut(work)
        }
    }

    /// Fresh for every interleaving.
    macro_rules! statics {
        ($($(#[$attribute:meta])* static $name:ident: $type:ty = $value:expr;)*) => {
            loom::lazy_static! { $($(#[$attribute])* static ref $name: $type = $value;)* }
        };
    }

    macro_rules! filled {
        ($value:expr; $count:expr) => {
            std::array::from_fn(|_| $value)
        };
    }

    pub(crate) use {filled, statics};
}
