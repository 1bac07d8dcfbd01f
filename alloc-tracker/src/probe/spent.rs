//! What reading the probes has cost since the session began: processor time by probe, and whether another reading fits.
//!
//! Together the probes may take [`ONE_PART_IN`] of the time, and [`AT_ONCE_NS`] more: so a session has something to spend
//! while its memory grows fastest, which is at its beginning, and still stays below 1 % of a core from 4 s on. Before each
//! reading that takes longer than a read of a short file, [`fits`] is asked. It expects the reading to take as long as the
//! one before, and says no when the sum of all probes would exceed what they may take, or that probe its own share of it.
//! Only the first reading of each probe comes in any case.
//!
//! Some readings are counted and never refused: the resident set on each tick, the limits (before memory runs out, they
//! must not be late), and what somebody has asked for: a mark with a book, a dump. The last ones are not in the sum.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::sys;

/// The probes may take one part in this of the time ...
const ONE_PART_IN: u64 = 200;
/// ... and so many nanoseconds besides.
const AT_ONCE_NS: u64 = 20_000_000;

/// A probe, or several that are read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The resident set, on each tick.
    Resident,
    /// The columns of the allocator, the control group, the GPU and the processors, on some ticks.
    Columns,
    /// The pages of the allocator and the tracker, for the coarse book.
    Pages,
    /// The same and what the allocator claims, for the book near the peak.
    Book,
    /// The survey of all mappings.
    Survey,
    /// What is beyond the resident set.
    Beyond,
    /// What the process may still take.
    Limits,
    /// The power sensors.
    Power,
    /// The figures of the whole run, when a timeline is closed.
    Closing,
    /// Whatever the program has asked for.
    Asked,
}

/// All of them, in the order of their numbers: the name in the file, and the hundredths that it may have of what all may
/// take; 0 for one that is never refused. They are a hundred in sum, so that none of them can keep another from its share.
const PROBES: [(Probe, &str, u64); 10] = [
    (Probe::Resident, "resident", 0),
    (Probe::Columns, "columns", 15),
    (Probe::Pages, "pages", 30),
    (Probe::Book, "book", 20),
    (Probe::Survey, "survey", 15),
    (Probe::Beyond, "beyond", 20),
    (Probe::Limits, "limits", 0),
    (Probe::Power, "power", 0),
    (Probe::Closing, "closing", 0),
    (Probe::Asked, "asked", 0),
];

/// What the readings of a probe took, in nanoseconds of processor time.
#[derive(Debug)]
struct Spent {
    all_ns: AtomicU64,
    /// That of the latest; 0 before the first.
    latest_ns: AtomicU64,
}

/// One session records at a time, and two of its threads read probes, as do threads of the program that set a mark.
static SPENT: [Spent; PROBES.len()] =
    [const { Spent { all_ns: AtomicU64::new(0), latest_ns: AtomicU64::new(0) } }; PROBES.len()];
/// When the session began.
static BEGAN_NS: AtomicU64 = AtomicU64::new(0);

/// A session begins at the clock's time `now_ns`: nothing is spent.
pub fn begin(now_ns: u64) {
    BEGAN_NS.store(now_ns, Relaxed);
    for spent in &SPENT {
        spent.all_ns.store(0, Relaxed);
        spent.latest_ns.store(0, Relaxed);
    }
}

/// Nanoseconds of processor time by probe since the session began, without those that were never read.
pub fn by_probe() -> BTreeMap<String, u64> {
    let all = PROBES.iter().map(|(probe, name, _)| ((*name).to_owned(), of(*probe).all_ns.load(Relaxed)));
    all.filter(|(_, ns)| *ns > 0).collect()
}

/// Whether `readings` more of `probe` fit into what it may take, at the clock's time `now_ns`. True before the first.
pub fn fits(probe: Probe, readings: u64, now_ns: u64) -> bool {
    fits_with(PROBES[probe as usize].2, probe, readings, now_ns)
}

/// Whether they fit into what all probes may take, whatever the share of `probe`.
pub fn fits_into_all(probe: Probe, readings: u64, now_ns: u64) -> bool {
    fits_with(100, probe, readings, now_ns)
}

fn fits_with(hundredths: u64, probe: Probe, readings: u64, now_ns: u64) -> bool {
    let sum_ns = PROBES.iter().filter(|one| one.0 != Probe::Asked).map(|one| of(one.0).all_ns.load(Relaxed)).sum();
    let (own_ns, latest_ns) = (of(probe).all_ns.load(Relaxed), of(probe).latest_ns.load(Relaxed));
    let passed_ns = now_ns.saturating_sub(BEGAN_NS.load(Relaxed));
    latest_ns == 0 || allowed(passed_ns, hundredths, [sum_ns, own_ns], latest_ns.saturating_mul(readings))
}

/// Whether `more_ns` are allowed after `passed_ns` of the session, when all probes have taken `sum_ns`, and this one, with
/// so many `hundredths`, `own_ns` of them.
fn allowed(passed_ns: u64, hundredths: u64, [sum_ns, own_ns]: [u64; 2], more_ns: u64) -> bool {
    let all_ns = AT_ONCE_NS.saturating_add(passed_ns / ONE_PART_IN);
    sum_ns.saturating_add(more_ns) <= all_ns && own_ns.saturating_add(more_ns) <= all_ns / 100 * hundredths
}

fn of(probe: Probe) -> &'static Spent {
    &SPENT[probe as usize]
}

/// Measures readings of the calling thread, one after the other.
#[derive(Debug)]
pub struct Stopwatch(u64);

impl Stopwatch {
    /// Begins with the first reading.
    pub fn start() -> Self {
        Stopwatch(sys::thread_cpu_ns())
    }

    /// A reading of `probe` is over, and the next begins. Returns how many nanoseconds of processor time it took.
    pub fn lap(&mut self, probe: Probe) -> u64 {
        let now = sys::thread_cpu_ns();
        let ns = now.saturating_sub(self.0);
        self.0 = now;
        of(probe).all_ns.fetch_add(ns, Relaxed);
        of(probe).latest_ns.store(ns.max(1), Relaxed);
        ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_probe_has_its_number() {
        assert!(PROBES.iter().enumerate().all(|(number, one)| one.0 as usize == number));
    }

    /// After 16 s, all may have taken 20 + 16,000 / 200 = 100 ms, and a probe with 25 hundredths 25 of them.
    #[test]
    fn a_reading_fits_into_both_its_own_share_and_that_of_all() {
        const MS: u64 = 1_000_000;
        let fits = |sum, own, more| allowed(16_000 * MS, 25, [sum * MS, own * MS], more * MS);
        assert!(fits(98, 23, 2));
        assert!(!fits(99, 23, 2), "101 of 100");
        assert!(!fits(90, 24, 2), "26 of 25");
        assert!(!allowed(16_000 * MS, 25, [0, u64::MAX], u64::MAX));
    }

    /// The longest that all probes together may take is 1 % of a core at 4 s, and half of that in the end.
    #[test]
    fn less_than_a_hundredth_after_some_seconds() {
        let most = |seconds: u64| AT_ONCE_NS + seconds * 1_000_000_000 / ONE_PART_IN;
        assert_eq!([most(1), most(4), most(100)], [25_000_000, 40_000_000, 520_000_000]);
    }

    #[test]
    fn a_stopwatch_measures_the_thread() {
        let before = by_probe().get("power").copied().unwrap_or(0);
        let mut watch = Stopwatch::start();
        let until = sys::thread_cpu_ns() + 5_000_000;
        while sys::thread_cpu_ns() < until {}
        let ns = watch.lap(Probe::Power);
        assert!(ns >= 5_000_000, "{ns}");
        assert!(by_probe()["power"] >= before + 5_000_000);
    }
}
