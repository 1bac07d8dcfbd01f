//! The event ring, and the change between publishing to the ring and to the totals, in every interleaving that loom
//! finds. The code is the tracker's own files, compiled with loom's atomics in place of the processor's (`sync` below
//! stands for the tracker's `sys/sync.rs`). A limit on how often loom preempts a thread bounds the number of
//! interleavings.
#![allow(dead_code, reason = "the files are the tracker's, of which a model needs a part")]
// The tracker's files name the crate `alloc_replay`. Here that is this very crate: it has the real one's types, but a
// small model in place of the replay.
extern crate alloc_replay as real_replay;
extern crate self as alloc_replay;

use loom::thread;
pub use real_replay::{BlockSize, Counts, DeviceTotals, Event, NameId, ScopeId, TRACKER};
pub use replay::Replay;

#[path = "../../alloc-tracker/src/event/mod.rs"]
mod event;
#[path = "../../alloc-tracker/src/ledger/publish.rs"]
mod publish;
#[path = "../../alloc-tracker/src/recorder/state.rs"]
mod state;

/// loom's atomics. loom treats sequentially consistent accesses as weaker ones, but it models sequentially consistent
/// fences; so each such access stands between two fences.
mod sys {
    /// A hint, which changes nothing that another thread could see.
    pub fn prefetch_for_write<T>(_: &T) {}

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
}

/// Stands for the tracker's ledger, except for `publish`, which is the tracker's own file.
mod ledger {
    pub fn as_tracker<R>(work: impl FnOnce() -> R) -> R {
        work()
    }

    /// The totals, reduced to one scope and its allocated bytes.
    pub mod totals {
        use crate::Counts;
        use crate::sys::sync::{AtomicBool, AtomicU64, Ordering};

        loom::lazy_static! {
            static ref ALLOCATED: Total = Total(AtomicU64::new(0));
            pub static ref DROPPED_EVENTS: AtomicU64 = AtomicU64::new(0);
            /// Whether a signal handler forks while counts are added. What follows is the child's.
            pub static ref FORKS_WHILE_ADDING: AtomicBool = AtomicBool::new(false);
        }

        pub struct Total(AtomicU64);

        pub fn of(_: u16) -> &'static Total {
            &ALLOCATED
        }

        impl Total {
            pub fn add(&self, counts: &Counts) {
                self.0.fetch_add(counts.allocated, Ordering::Relaxed);
                if FORKS_WHILE_ADDING.swap(false, Ordering::Relaxed) {
                    crate::publish::reset();
                }
            }

            pub fn read(&self) -> u64 {
                self.0.load(Ordering::Relaxed)
            }
        }
    }
}

#[allow(missing_docs, reason = "a model for this test")]
/// Stands for the replay: it adds the counts that it reads to the totals, and keeps a sum of its own.
mod replay {
    use super::{Counts, Event, ScopeId};

    #[derive(Default)]
    pub struct Replay {
        pub sum: u64,
        pub seen: Vec<(u64, u64)>,
    }

    impl Replay {
        pub fn apply(&mut self, number: u64, _: u64, event: &Event, mut totals: impl FnMut(ScopeId, Counts)) {
            let Event::Batch { scope, counts } = *event else { panic!("{event:?}") };
            self.sum += counts.allocated;
            self.seen.push((number, counts.allocated));
            totals(scope, counts);
        }
    }
}

use ledger::totals;

const SCOPE: u16 = 5;

fn publish_bytes(allocated: u64) {
    publish::batch(None, SCOPE, &Counts { allocated, allocations: 1, ..Counts::default() }, sys::now_ns);
}

/// The event of so many allocated bytes.
fn batch(allocated: u64) -> Event {
    Event::Batch { scope: SCOPE, counts: Counts { allocated, ..Counts::default() } }
}

/// As `Recorder::start` does it.
fn recording_begins() {
    state::with_state(|state| *state = Some(replay::Replay::default()));
    publish::begin(state::drain);
}

fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 100_000;
    builder.check(model);
}

/// Reads the events as the recorder's thread does, then runs `look` on the replay.
fn replayed<R>(look: impl FnOnce(&mut replay::Replay) -> R) -> R {
    state::with_state(|state| look(state.as_mut().expect("a replay")))
}

/// Two writers put two events each into a ring of two places, and nobody else reads: every event arrives once, in the
/// order of its number, and each writer's in the order in which it wrote them.
#[test]
fn writers_of_a_full_ring_help_themselves() {
    check(3, || {
        recording_begins();
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

/// The same with a reader beside the writers, which reads once, at any moment.
#[test]
fn writers_and_a_reader() {
    check(3, || {
        recording_begins();
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
/// replay has it exactly once, and no event is left in the ring.
#[test]
fn the_hand_over_counts_nothing_twice_or_never() {
    check(3, || {
        let publishers = [1, 10].map(|bytes| thread::spawn(move || publish_bytes(bytes)));
        recording_begins();
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

/// A thread forks while another has claimed a place in the ring and not written it. The child has the counts that the forking thread
/// wrote behind that place, and the unfinished write, which goes on there if a signal handler of the same thread forked, ends.
#[test]
fn a_forked_child_has_what_stands_behind_an_unfinished_event() {
    check(0, || {
        recording_begins();
        publish_bytes(1);
        publish_bytes(2);
        // The ring is full: this write has its number, and asks for help.
        let help = || {
            state::hold_reading();
            state::release_reading();
            publish_bytes(8);
            state::hold_reading();
            assert_eq!(totals::of(SCOPE).read(), 3, "nobody reads past the unfinished event");
            // As the child does it.
            publish::reset();
            state::read_what_was_left();
        };
        assert!(!event::ring::write(1, &batch(4), publish::recording, help));
        assert_eq!(totals::of(SCOPE).read(), 11);
        publish_bytes(16);
        assert_eq!(totals::of(SCOPE).read(), 27);
    });
}

/// A signal handler forks while its thread adds counts to the totals. A session that begins in the child does not wait for what has ended.
#[test]
fn a_forked_child_waits_for_nobody() {
    check(0, || {
        totals::FORKS_WHILE_ADDING.store(true, sys::sync::Ordering::Relaxed);
        publish_bytes(1);
        recording_begins();
        publish_bytes(2);
        publish::end();
        assert_eq!(totals::of(SCOPE).read(), 3);
    });
}

/// A signal handler forks while its thread reads the ring, where another thread has claimed a place and not written it. The child's reader does
/// not fall back to that place, which nobody will write.
#[test]
fn a_forked_childs_reader_stays_where_the_child_begins() {
    check(0, || {
        recording_begins();
        publish_bytes(1);
        let while_it_is_claimed = || {
            sys::sync::FORKS_WHILE_READING.store(true, sys::sync::Ordering::Relaxed);
            let mut reader = event::ring::reader().expect("nobody else reads");
            while reader.next().is_some() {}
            assert_eq!(event::ring::places_read(), event::ring::places_claimed());
            false
        };
        assert!(!event::ring::write(1, &batch(2), while_it_is_claimed, || ()));
    });
}
