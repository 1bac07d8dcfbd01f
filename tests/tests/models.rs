//! The event ring, and the change between publishing to the ring and to the totals, in every interleaving that loom
//! finds. The code is the tracker's own files, compiled with loom's atomics in place of the processor's (`models/sys.rs`
//! stands for the tracker's `sys/`). A limit on how often loom preempts a thread bounds the number of
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

#[path = "models/sys.rs"]
mod sys;

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
