//! How long each scope was active and how often it was entered, summed over threads and for the thread that does the
//! steps alone; and processor time of all threads, if that is asked for.
//!
//! A thread reads the clock whenever it enters or leaves a scope, and adds what has passed to the scope that was active
//! until then. Only sessions that ask for times have this done; otherwise entering a scope costs one load and one store
//! more. Processor time is asked for apart, because its clock is a system call, and takes ten times as long.
//!
//! ```text
//! enter a          enter b      leave b        leave a
//!    |<-- 3 ms: a -->|<- 1 ms: b ->|<- 2 ms: a -->|       a 5 ms, b 1 ms
//! ```
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicU64, AtomicUsize, Ordering};

use alloc_replay::ScopeId;

use crate::scope::MAX_SCOPES;
use crate::sys;

/// When measuring began, on the clock; 0 while nobody asks for times.
static BEGUN_NS: AtomicU64 = AtomicU64::new(0);
/// Whether processor time is measured as well.
static WITH_CPU: AtomicBool = AtomicBool::new(false);
/// The address of the stopwatch of the thread that began a step last; 0 when there is none.
static STEPPING: AtomicUsize = AtomicUsize::new(0);
static TIMES: [AtomicTimes; MAX_SCOPES] = [const { AtomicTimes::new() }; MAX_SCOPES];

struct AtomicTimes {
    /// Of all threads.
    all: AtomicActive,
    /// Of the thread that does the steps: a part of `all`.
    stepping: AtomicActive,
    cpu_ns: AtomicU64,
}

struct AtomicActive {
    ns: AtomicU64,
    calls: AtomicU64,
}

impl AtomicTimes {
    const fn new() -> Self {
        AtomicTimes { all: AtomicActive::new(), stepping: AtomicActive::new(), cpu_ns: AtomicU64::new(0) }
    }
}

impl AtomicActive {
    const fn new() -> Self {
        AtomicActive { ns: AtomicU64::new(0), calls: AtomicU64::new(0) }
    }

    fn read(&self) -> Active {
        Active { ns: self.ns.load(Ordering::Relaxed), calls: self.calls.load(Ordering::Relaxed) }
    }
}

/// How long a scope was active, and how often it was entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Active {
    /// Nanoseconds by the clock.
    pub ns: u64,
    /// Entries.
    pub calls: u64,
}

impl Active {
    /// What was added to these sums since `earlier`. A sum that is below what it was then, because it was read while a thread
    /// changed its scope, counts as 0.
    pub fn since(self, earlier: Active) -> Active {
        Active { ns: self.ns.saturating_sub(earlier.ns), calls: self.calls.saturating_sub(earlier.calls) }
    }
}

/// What was measured of a scope, summed over threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Time by the clock.
    pub active: Active,
    /// Processor time of the threads that were in the scope, while they were; 0 when nobody asked for it.
    pub cpu_ns: u64,
}

/// Begins to measure, at a time of the clock; `with_cpu` says whether processor time as well.
pub fn begin(now_ns: u64, with_cpu: bool) {
    WITH_CPU.store(with_cpu, Ordering::Relaxed);
    BEGUN_NS.store(now_ns.max(1), Ordering::SeqCst);
}

/// Ends measuring.
pub fn end() {
    BEGUN_NS.store(0, Ordering::SeqCst);
}

/// Whether a session asks for times.
pub fn is_on() -> bool {
    BEGUN_NS.load(Ordering::Relaxed) != 0
}

/// What was measured of a scope since the process began. A scope that is still active has not got its latest time yet:
/// see [`Stopwatch::running`].
pub fn of(scope: ScopeId) -> Times {
    let times = times_of(scope);
    Times { active: times.all.read(), cpu_ns: times.cpu_ns.load(Ordering::Relaxed) }
}

/// The same of threads while they did steps, without processor time: exact at a [`cut`](Stopwatch::cut) of the thread that
/// does them now.
pub fn of_stepping_thread(scope: ScopeId) -> Active {
    times_of(scope).stepping.read()
}

fn times_of(scope: ScopeId) -> &'static AtomicTimes {
    &TIMES[usize::from(scope).min(MAX_SCOPES - 1)]
}

/// The addresses that the times occupy.
pub fn range() -> (usize, usize) {
    let start = TIMES.as_ptr().addr();
    (start, start + size_of_val(&TIMES))
}

/// One thread's stopwatch. Only the thread and its signal handlers write to it. A handler that enters a scope in the
/// middle of a lap counts the nanoseconds since the lap began to the scope before.
#[repr(C)]
pub struct Stopwatch {
    /// When the thread came to the active scope. Older than the beginning of measuring: at the beginning.
    since_ns: AtomicU64,
    /// The thread's processor time then.
    cpu_since_ns: AtomicU64,
    /// The active scope, also while nothing is measured.
    scope: AtomicU16,
}

impl Stopwatch {
    /// For a thread that starts in `scope`.
    pub fn prepare(&self, scope: ScopeId) {
        self.since_ns.store(0, Ordering::Relaxed);
        self.scope.store(scope, Ordering::Relaxed);
        // The thread that had the slot before may have done steps.
        let _ = STEPPING.compare_exchange(self.address(), 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }

    /// From now on `next` is the active scope, because the thread has left the one before.
    #[inline]
    pub fn lap(&self, next: ScopeId) {
        let begun_ns = BEGUN_NS.load(Ordering::Relaxed);
        if begun_ns != 0 {
            self.count(begun_ns, None);
        }
        self.scope.store(next, Ordering::Relaxed);
    }

    /// From now on `next` is the active scope, because the thread has entered it.
    #[inline]
    pub fn enter(&self, next: ScopeId) {
        let begun_ns = BEGUN_NS.load(Ordering::Relaxed);
        if begun_ns != 0 {
            self.count(begun_ns, Some(next));
        }
        self.scope.store(next, Ordering::Relaxed);
    }

    /// Counts the active scope up to now, and makes this thread the one that does the steps. Returns the time of the cut;
    /// `None` while nothing is measured.
    pub fn cut(&self) -> Option<u64> {
        let begun_ns = BEGUN_NS.load(Ordering::Relaxed);
        (begun_ns != 0).then(|| {
            self.count(begun_ns, None);
            STEPPING.store(self.address(), Ordering::Relaxed);
            self.since_ns()
        })
    }

    /// When the thread came to the active scope, or cut its time.
    pub fn since_ns(&self) -> u64 {
        self.since_ns.load(Ordering::Relaxed)
    }

    #[cold]
    fn count(&self, begun_ns: u64, entered: Option<ScopeId>) {
        let now = sys::now_ns();
        // A signal handler may have counted up to a later instant since the clock was read: then nothing is left.
        let since = self.since_ns.fetch_max(now, Ordering::Relaxed);
        let times = times_of(self.scope());
        let passed = now.saturating_sub(since.max(begun_ns));
        let is_stepping = STEPPING.load(Ordering::Relaxed) == self.address();
        times.all.ns.fetch_add(passed, Ordering::Relaxed);
        if is_stepping {
            times.stepping.ns.fetch_add(passed, Ordering::Relaxed);
        }
        if let Some(entered) = entered.map(times_of) {
            entered.all.calls.fetch_add(1, Ordering::Relaxed);
            if is_stepping {
                entered.stepping.calls.fetch_add(1, Ordering::Relaxed);
            }
        }
        if WITH_CPU.load(Ordering::Relaxed) {
            let cpu_now = sys::thread_cpu_ns();
            let cpu_since = self.cpu_since_ns.swap(cpu_now, Ordering::Relaxed);
            // The processor time of a first lap is not known: at the beginning nobody asked the thread for it.
            if since >= begun_ns {
                times.cpu_ns.fetch_add(cpu_now.saturating_sub(cpu_since), Ordering::Relaxed);
            }
        }
    }

    /// The active scope.
    pub fn scope(&self) -> ScopeId {
        self.scope.load(Ordering::Relaxed)
    }

    /// The active scope, and for how long it has been at `now_ns`; for the recorder. `None` while nothing is measured.
    pub fn running(&self, now_ns: u64) -> Option<(ScopeId, u64)> {
        let begun_ns = BEGUN_NS.load(Ordering::Relaxed);
        let mut since = self.since_ns.load(Ordering::Acquire);
        // The thread may go to another scope between two loads. Then it is asked once more; a time that belongs to the
        // wrong one of the two is put right by the next reading.
        let mut scope = self.scope();
        if self.since_ns.load(Ordering::Acquire) != since {
            (since, scope) = (self.since_ns.load(Ordering::Acquire), self.scope());
        }
        (begun_ns != 0).then(|| (scope, now_ns.saturating_sub(since.max(begun_ns))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTER: ScopeId = 32_001;
    const INNER: ScopeId = 32_002;

    fn work(ns: u64) {
        let until = sys::now_ns() + ns;
        while sys::now_ns() < until {}
    }

    /// The scopes of this test belong to no other test.
    #[test]
    fn each_scope_gets_the_time_between_two_laps() {
        let watch =
            Stopwatch { since_ns: AtomicU64::new(0), cpu_since_ns: AtomicU64::new(0), scope: AtomicU16::new(OUTER) };
        watch.lap(OUTER);
        work(1_000_000);
        assert_eq!(of(OUTER), Times::default(), "nobody asked");
        assert_eq!(watch.running(sys::now_ns()), None);

        let begun = sys::now_ns();
        begin(begun, true);
        work(2_000_000);
        watch.enter(INNER);
        let lap = sys::now_ns();
        assert!((2_000_000..=lap - begun).contains(&of(OUTER).active.ns), "{:?}", of(OUTER));
        assert_eq!(of(OUTER).cpu_ns, 0, "the first lap has no processor time");
        std::thread::sleep(std::time::Duration::from_millis(5));
        work(1_000_000);
        let now = sys::now_ns();
        let (scope, ns) = watch.running(now).expect("measured");
        assert!(scope == INNER && (6_000_000..=now - begun).contains(&ns), "{scope}: {ns}");
        watch.lap(OUTER);
        let inner = of(INNER);
        assert!(inner.active.ns >= 6_000_000 && inner.active.calls == 1, "{inner:?}");
        assert_eq!(of_stepping_thread(INNER), Active::default(), "the thread has done no step");
        // The loop worked for a millisecond by the clock, of which others may have taken a part; the sleep took none.
        assert!(inner.cpu_ns > 0 && inner.cpu_ns + 5_000_000 <= inner.active.ns, "{inner:?}");

        // Between two cuts, the times of the thread that does the steps sum to what passed.
        let sum = || of_stepping_thread(OUTER).ns + of_stepping_thread(INNER).ns;
        let (began, before) = (watch.cut().expect("measured"), sum());
        watch.enter(INNER);
        work(100_000);
        watch.lap(OUTER);
        let ended = watch.cut().expect("measured");
        assert_eq!(sum() - before, ended - began);
        assert_eq!(of_stepping_thread(INNER).calls, 1);
        let inner = of(INNER);
        end();
        watch.lap(INNER);
        assert_eq!(of(INNER), inner);
        assert_eq!(watch.cut(), None);
    }
}
