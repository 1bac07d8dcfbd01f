//! What reading the probes has cost since the session began: processor time by probe, and whether another reading fits.
//!
//! Together the probes may take [`TEN_THOUSANDTHS`] of the time, and [`AT_ONCE_NS`] more: so a session has something to spend
//! while its memory grows fastest, which is at its beginning, and still stays below 1 % of a core from 8 s on. Before each
//! reading that takes longer than a read of a short file, [`fits`] is asked. It expects the reading to take as long as the
//! one before, and says no when the probe would exceed its share. What a probe has taken beyond its share comes off the
//! shares of the others. In any case come only the first reading of each probe, a book when the live bytes are higher by a
//! quarter (after a pause of twenty times what the one before took) or when that of a higher peak is late, a survey that such a book wants and that is late, a count of touched pages that is late (`coarse.rs`), and a last survey at the end of a recording whose book
//! leaves much unexplained.
//!
//! Child processes and devices are apart from that: what walks over the children's pages may take is in `child_looks.rs`, what asking a
//! driver may take in `device_probes.rs`, and both come off no other share.
//!
//! Some readings are counted and never refused: the resident set on each tick, the limits (before memory runs out, they
//! must not be late), and what somebody has asked for: a mark with a book, a dump. The last ones are not in the sum.
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::sys;

/// The probes may take so many ten-thousandths of the time ...
const TEN_THOUSANDTHS: u64 = 45;
/// ... and so many nanoseconds besides.
const AT_ONCE_NS: u64 = 44_000_000;

/// A probe, or several that are read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The resident set, on each tick.
    Resident,
    /// The columns of the allocator, the control group and the processors, on some ticks.
    Columns,
    /// The pages of the allocator and the tracker, for the coarse book.
    Pages,
    /// The same and what the allocator claims, for the book near the peak.
    Book,
    /// The survey of all mappings.
    Survey,
    /// What is beyond the resident set.
    Beyond,
    /// The child processes.
    Children,
    /// What the driver of GPUs and the allocators of devices say.
    Devices,
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
/// take; 0 for one that is never refused. They are a hundred in sum.
const PROBES: [(Probe, &str, u64); 12] = [
    (Probe::Resident, "resident", 0),
    (Probe::Columns, "columns", 10),
    (Probe::Pages, "pages", 35),
    (Probe::Book, "book", 30),
    (Probe::Survey, "survey", 15),
    (Probe::Beyond, "beyond", 10),
    (Probe::Children, "children", 0),
    (Probe::Devices, "devices", 0),
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

/// Nanoseconds of processor time that the latest reading of `probe` took; 0 before the first.
pub fn latest_ns(probe: Probe) -> u64 {
    of(probe).latest_ns.load(Relaxed)
}

/// Whether `readings` more of `probe` fit into what it may take, at the clock's time `now_ns`. True before the first.
pub fn fits(probe: Probe, readings: u64, now_ns: u64) -> bool {
    let latest_ns = latest_ns(probe);
    latest_ns == 0 || latest_ns.saturating_mul(readings) <= left_ns(probe, now_ns)
}

/// How many nanoseconds `probe` may still take, at the clock's time `now_ns`.
pub fn left_ns(probe: Probe, now_ns: u64) -> u64 {
    let parts = PROBES.map(|one| (taken_together(one.0), one.2));
    left_of(may_take(now_ns), parts, probe as usize)
}

/// Whether one more reading of `probe` fits into what all probes may take, whatever its share.
pub fn fits_into_all(probe: Probe, now_ns: u64) -> bool {
    let (latest_ns, all) = (latest_ns(probe), PROBES.iter().map(|one| taken_together(one.0)));
    latest_ns == 0 || all.fold(latest_ns, u64::saturating_add) <= may_take(now_ns)
}

/// What a probe has taken of that which all may take together.
fn taken_together(probe: Probe) -> u64 {
    match probe {
        Probe::Children | Probe::Devices => 0,
        _ => of(probe).all_ns.load(Relaxed),
    }
}

/// What all probes may have taken at the clock's time `now_ns`.
fn may_take(now_ns: u64) -> u64 {
    may_take_in(now_ns.saturating_sub(BEGAN_NS.load(Relaxed)))
}

/// What all probes may have taken when a session is `session_ns` old.
fn may_take_in(session_ns: u64) -> u64 {
    AT_ONCE_NS + session_ns / 10_000 * TEN_THOUSANDTHS
}

/// What probe number `which` may still take, when all may take `all_ns`, and each of them has taken so many nanoseconds and has
/// so many hundredths of that.
fn left_of(all_ns: u64, parts: [(u64, u64); PROBES.len()], which: usize) -> u64 {
    let beyond_share = parts.map(|(own_ns, hundredths)| own_ns.saturating_sub(all_ns / 100 * hundredths));
    let left_ns = all_ns.saturating_sub(beyond_share.iter().fold(0, |sum: u64, ns| sum.saturating_add(*ns)));
    (left_ns / 100 * parts[which].1).saturating_sub(parts[which].0)
}

fn of(probe: Probe) -> &'static Spent {
    &SPENT[probe as usize]
}

thread_local! {
    /// What another thread has taken for the calling one since its stopwatch was looked at, in nanoseconds.
    static ELSEWHERE_NS: Cell<u64> = const { Cell::new(0) };
}

/// Another thread has taken so many nanoseconds for a reading of the calling one.
pub fn took_elsewhere(ns: u64) {
    ELSEWHERE_NS.set(ELSEWHERE_NS.get().saturating_add(ns));
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
        let ns = now.saturating_sub(self.0).saturating_add(ELSEWHERE_NS.take());
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

    /// All may take 100 ms, and the columns 10 of them. Pages may take 35, and have taken 40: so 95 are left for all, and
    /// 9.5 for the columns. The resident set, which has no share, takes another 15.
    #[test]
    fn what_one_takes_beyond_its_share_comes_off_the_shares_of_all() {
        const MS: u64 = 1_000_000;
        let columns = Probe::Columns as usize;
        let mut parts = PROBES.map(|one| (0, one.2));
        parts[columns].0 = 8 * MS;
        let left_us = |parts| left_of(100 * MS, parts, columns) / 1_000;
        assert_eq!(left_us(parts), 2_000);
        parts[Probe::Pages as usize].0 = 40 * MS;
        assert_eq!(left_us(parts), 1_500);
        parts[Probe::Resident as usize].0 = 15 * MS;
        assert_eq!(left_us(parts), 0);
        parts[columns].0 = u64::MAX;
        assert_eq!(left_us(parts), 0);
        assert_eq!(PROBES.iter().map(|one| one.2).sum::<u64>(), 100);
    }

    /// The longest that all probes together may take is less than 1 % of a core from 8 s on, and half of that in the end.
    #[test]
    fn less_than_a_hundredth_after_some_seconds() {
        let most = [1_000, 8_000, 100_000].map(|session_ms| may_take_in(session_ms * 1_000_000));
        assert_eq!(most, [48_500_000, 80_000_000, 494_000_000]);
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
        took_elsewhere(1 << 40);
        assert!([watch.lap(Probe::Power), watch.lap(Probe::Power)].map(|ns| ns >> 40) == [1, 0]);
    }
}
