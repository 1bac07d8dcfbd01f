//! The event ring and the hand-over between ring and totals in every interleaving that loom finds: the files of the
//! tracker itself, compiled with loom's atomics in place of the processor's (`sync` below stands for the tracker's
//! `sys/sync.rs`). Interleavings are bounded by the number of times that a thread is stopped against its will.
#![allow(dead_code, reason = "the files are the tracker's, of which a model needs a part")]
use loom::thread;

#[path = "../../alloc-tracker/src/event/mod.rs"]
mod event;
#[path = "../../alloc-tracker/src/ledger/publish.rs"]
mod publish;
#[path = "../../alloc-tracker/src/recorder/state.rs"]
mod state;

/// loom's atomics. loom takes sequentially consistent accesses for weaker ones, but knows such fences, so each such access
/// stands between two of them.
mod sys {
    pub fn now_ns() -> u64 {
        1
    }

    pub mod sync {
        pub use loom::cell::UnsafeCell;
        pub use loom::sync::atomic::{Ordering, fence};
        pub use loom::thread::yield_now;

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

        /// loom notices when two threads are inside at a time.
        pub struct Guarded<T>(UnsafeCell<T>);

        // SAFETY: loom runs one thread at a time.
        unsafe impl<T: Send> Sync for Guarded<T> {}

        impl<T> Guarded<T> {
            pub fn new(value: T) -> Self {
                Guarded(UnsafeCell::new(value))
            }

            pub fn with<R>(&self, work: impl FnOnce(*const T) -> R) -> R {
                self.0.with(work)
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
}

mod tag {
    pub mod scope {
        pub type ScopeId = u16;
        pub const TRACKER: ScopeId = 0;
    }
}

mod recorder {
    pub use super::state::{drain, help};
}

mod ledger {
    pub mod pool {
        pub fn acquire() -> Option<&'static super::super::slot::Slot> {
            None
        }

        pub fn as_tracker_without_slot<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
    }
}

mod scope {
    pub fn as_tracker<R>(_: &super::slot::Slot, work: impl FnOnce() -> R) -> R {
        work()
    }
}

mod slot {
    pub struct Slot {
        pub in_ring: super::sys::sync::AtomicU32,
    }
}

/// What the whole process has counted, of which allocated bytes stand for all.
mod totals {
    use super::sys::sync::{AtomicU64, Ordering};

    loom::lazy_static! {
        static ref ALLOCATED: Shared = Shared(AtomicU64::new(0));
        pub static ref DROPPED_EVENTS: AtomicU64 = AtomicU64::new(0);
    }

    pub struct Shared(AtomicU64);

    #[derive(Default)]
    pub struct Counts {
        pub allocated: u64,
        pub freed: u64,
        pub requested: u64,
        pub requested_freed: u64,
        pub allocations: u64,
        pub frees: u64,
        pub moved_in: u64,
    }

    pub fn of(_: u16) -> &'static Shared {
        &ALLOCATED
    }

    impl Shared {
        pub fn add(&self, counts: &Counts) {
            self.0.fetch_add(counts.allocated, Ordering::Relaxed);
        }

        pub fn read(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
    }
}

/// What a replay keeps of the real one: it adds to the totals what it reads, and has a sum of its own.
mod replay {
    use super::event::Event;

    #[derive(Default)]
    pub struct Replay {
        pub sum: u64,
        pub seen: Vec<(u64, u64)>,
    }

    impl Replay {
        pub fn apply(&mut self, number: u64, event: &Event) {
            let counts = super::publish::counts_of(event);
            self.sum += counts.allocated;
            self.seen.push((number, counts.allocated));
            super::totals::of(event.scope).add(&counts);
        }
    }
}

const SCOPE: u16 = 1;

fn publish_bytes(allocated: u64) {
    publish::delta(None, SCOPE, &totals::Counts { allocated, allocations: 1, ..totals::Counts::default() });
}

fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    builder.check(model);
}

/// Reads what is there as the recorder's thread does, and gives what the replay has.
fn replayed<R>(look: impl FnOnce(&mut replay::Replay) -> R) -> R {
    state::work(|state| look(state.as_mut().expect("a replay")))
}

/// Two writers put two events each into a ring of two places, and nobody else reads: every event arrives once, in the
/// order of its number, and each writer's in the order in which it wrote them.
#[test]
fn writers_of_a_full_ring_help_themselves() {
    check(3, || {
        state::work(|state| *state = Some(replay::Replay::default()));
        publish::begin();
        let writers = [10, 20].map(|first| {
            thread::spawn(move || {
                publish_bytes(first);
                publish_bytes(first + 1);
            })
        });
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        let seen = replayed(|replay| std::mem::take(&mut replay.seen));
        let numbers: Vec<u64> = seen.iter().map(|&(number, _)| number).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
        for first in [10, 20] {
            let own: Vec<u64> = seen.iter().map(|&(_, bytes)| bytes).filter(|bytes| bytes / 10 == first / 10).collect();
            assert_eq!(own, [first, first + 1]);
        }
        assert_eq!(totals::of(SCOPE).read(), 62);
    });
}

/// The same with a reader beside them, which stops in the middle of it all.
#[test]
fn writers_and_a_reader() {
    check(3, || {
        state::work(|state| *state = Some(replay::Replay::default()));
        publish::begin();
        let writers = [10, 20].map(|bytes| thread::spawn(move || publish_bytes(bytes)));
        let reader = thread::spawn(|| {
            let (sum, total) = replayed(|replay| (replay.sum, totals::of(SCOPE).read()));
            assert_eq!(sum, total, "while recording, only the replay adds to the totals");
        });
        writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
        reader.join().expect("the reader");
        assert_eq!(replayed(|replay| replay.sum), 30);
    });
}

/// Threads publish while a recording begins and ends around them: what was published is in the totals exactly once, the
/// replay has it exactly once, and the ring is left empty.
#[test]
fn the_hand_over_counts_nothing_twice_or_never() {
    check(3, || {
        let publishers = [1, 10].map(|bytes| thread::spawn(move || publish_bytes(bytes)));
        // As `Recorder::start` does it.
        state::work(|state| *state = Some(replay::Replay::default()));
        publish::begin();
        replayed(|replay| replay.sum = totals::of(SCOPE).read());
        let (sum, total) = replayed(|replay| (replay.sum, totals::of(SCOPE).read()));
        assert_eq!(sum, total, "a publication went past the recording that has begun");
        // As `Recorder::stop` does it.
        publish::end();
        let last = replayed(|replay| replay.sum);
        publishers.into_iter().for_each(|publisher| publisher.join().expect("a publisher"));
        assert_eq!(replayed(|replay| replay.sum), last, "an event came after the end");
        assert_eq!(totals::of(SCOPE).read(), 11);
    });
}
