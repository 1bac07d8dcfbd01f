//! Times by scope, step by step, of sessions that are asked for times.
//!
//! The thread that begins a step reads the stopwatches' sums, and reads them again when it ends the step. What is
//! between the two readings is the step's, to the nanosecond, because that thread cuts its own lap at both.
use alloc_replay::ScopeId;
use alloc_timeline::{ScopeTimes, StepTimes};

use crate::ledger::stopwatch::{self, Active};
use crate::{ledger, scope, sys};

/// How many times sums are read at most, while signal handlers that enter scopes keep changing them.
const LOOKS: usize = 100;

/// The step that is open, and those that have ended and are not recorded yet.
#[derive(Debug, Default)]
pub struct StepClock {
    begun: u64,
    open: Option<Reading>,
    /// Whether the open step was derived.
    is_derived: bool,
    ended: Vec<StepTimes>,
}

/// The sums of the stopwatches at an instant, by scope number.
#[derive(Debug)]
struct Reading {
    time_ns: u64,
    /// Which thread read them.
    thread: usize,
    stepping: Vec<Active>,
    others: Vec<Active>,
}

impl StepClock {
    /// The program begins a step on this thread. One that is open ends; one that was derived has been none.
    pub fn begin(&mut self) {
        if self.is_derived && self.open.take().is_some() {
            self.begun -= 1;
        }
        self.begin_as(false);
    }

    /// A step begins on this thread that operators tell of. One that is open ends.
    pub fn begin_derived(&mut self) {
        self.begin_as(true);
    }

    fn begin_as(&mut self, is_derived: bool) {
        self.end();
        self.begun += 1;
        self.is_derived = is_derived;
        self.open = Reading::take();
    }

    /// The open step ends. On another thread than it began nobody knows its times: they are left out.
    pub fn end(&mut self) {
        let Some(began) = self.open.take() else { return };
        let Some(now) = Reading::take().filter(|now| now.thread == began.thread) else { return };
        let wall_ns = now.time_ns - began.time_ns;
        let stepping_thread: ScopeTimes = passed(&now.stepping, &began.stepping);
        // A thread that began after the other one has ended may have its slot, but not the time between the two.
        if stepping_thread.active_ns.iter().sum::<u64>() != wall_ns {
            return;
        }
        self.ended.push(StepTimes {
            first_step: self.begun,
            last_step: self.begun,
            wall_ns,
            stepping_thread,
            other_threads: passed(&now.others, &began.others),
        });
    }

    /// The steps that have ended since this was last asked.
    pub fn take_ended(&mut self) -> Vec<StepTimes> {
        std::mem::take(&mut self.ended)
    }
}

impl Reading {
    /// The sums now, of which this thread's are those of the stepping one. `None` when nothing is measured, and for a
    /// thread that is ending.
    fn take() -> Option<Reading> {
        let slot = ledger::acquire()?;
        for _ in 0..LOOKS {
            let time_ns = slot.stopwatch.cut()?;
            let scopes = || (0..scope::count()).map(|scope| scope as ScopeId);
            let stepping: Vec<Active> = scopes().map(stopwatch::of_stepping_thread).collect();
            // A signal handler that came to a scope meanwhile has changed the sums.
            if slot.stopwatch.since_ns() != time_ns {
                continue;
            }
            let all = scopes().map(|scope| stopwatch::of(scope).active);
            let mut others: Vec<Active> = all.zip(&stepping).map(|(all, own)| all.since(*own)).collect();
            let now = sys::now_ns();
            for other in ledger::live_slots().filter(|other| !std::ptr::eq(*other, slot)) {
                let running = other.stopwatch.running(now);
                if let Some((scope, ns)) =
                    running.and_then(|(scope, ns)| Some((others.get_mut(usize::from(scope))?, ns)))
                {
                    scope.ns += ns;
                }
            }
            // Threads that wait for work are in none of the program's scopes: they are not listed.
            let waiting = (0..alloc_replay::OTHER_SCOPES).chain([ledger::nobody()]);
            for scope in waiting {
                if let Some(idle) = others.get_mut(usize::from(scope)) {
                    *idle = Active::default();
                }
            }
            return Some(Reading { time_ns, thread: std::ptr::from_ref(slot).addr(), stepping, others });
        }
        None
    }
}

/// What each scope got between two readings.
fn passed(now: &[Active], before: &[Active]) -> ScopeTimes {
    let since = |(scope, now): (usize, &Active)| {
        let passed = now.since(before.get(scope).copied().unwrap_or_default());
        (scope as u32, passed.ns, passed.calls)
    };
    now.iter().enumerate().map(since).filter(|&(_, ns, calls)| ns > 0 || calls > 0).collect()
}
