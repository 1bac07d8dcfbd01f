//! Thresholds that dump, and functions to be called before a peak: what is due when the live bytes have come so far.
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// Which peak a program waits for; see `SessionBuilder::before_peak`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    /// So many live bytes.
    Bytes(u64),
    /// This share of the peak of the step before, 0.9 say; nothing is expected before the first step has ended.
    ShareOfLastStep(f64),
}

/// What a function that is called before a peak is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Approach {
    /// The most live bytes since the recorder looked last, or in this step, in usable bytes.
    pub live_bytes: u64,
    /// The bytes that were waited for.
    pub expected_bytes: u64,
    /// Nanoseconds since the session began.
    pub time_ns: u64,
}

/// What shall be done after a function was called before a peak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// Nothing.
    #[default]
    Continue,
    /// Write the timeline so far.
    Dump,
}

type Function = dyn FnMut(&Approach) -> Then + Send;

/// A program's function, called on the recorder's thread.
#[derive(Clone)]
pub struct Callback(Arc<Mutex<Box<Function>>>);

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}

impl Callback {
    /// `function`, to be called.
    pub fn new(function: impl FnMut(&Approach) -> Then + Send + 'static) -> Self {
        Callback(Arc::new(Mutex::new(Box::new(function))))
    }

    /// Calls it; `None` when it panicked.
    pub fn call(&self, approach: &Approach) -> Option<Then> {
        let call = || self.0.lock().unwrap_or_else(PoisonError::into_inner)(approach);
        catch_unwind(AssertUnwindSafe(call)).ok()
    }
}

/// What the program waits for.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    thresholds: Vec<Level>,
    functions: Vec<(Expected, Level, Callback)>,
}

/// Something that is due.
#[derive(Debug)]
pub enum Due {
    /// These many bytes were crossed.
    Threshold(u64),
    /// The function with that number is to be called.
    Call(usize, Callback, Approach),
}

/// A number of bytes that is crossed once, and again only after the live bytes have fallen by an eighth below it.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    bytes: u64,
    above: bool,
    /// The step in which it was crossed last.
    step: Option<u64>,
}

impl Level {
    fn crossed(&mut self, seen: Seen) -> bool {
        // What happened between two looks is known by its ends: below and then above again is a crossing of its own.
        let enough = self.bytes - self.bytes / 8;
        let fallen = self.above && seen.low < enough;
        let crossed = if self.above { fallen && seen.live >= self.bytes } else { seen.high >= self.bytes };
        self.above = seen.live >= enough && (crossed || self.above && !fallen);
        crossed
    }
}

/// What the recorder sees when it looks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seen {
    /// The most live bytes since it looked last.
    pub high: u64,
    /// The least.
    pub low: u64,
    /// Live bytes now.
    pub live: u64,
    /// The step that is under way, and the most live bytes in it.
    pub step: Option<(u64, u64)>,
    /// The peak of the step that ended last.
    pub last_step_peak: Option<u64>,
    /// Since the session began.
    pub time_ns: u64,
}

impl Watch {
    /// Dumps when `bytes` are crossed.
    pub fn threshold(&mut self, bytes: u64) {
        self.thresholds.push(Level { bytes, ..Level::default() });
    }

    /// Calls `function` before the peak that is expected.
    pub fn before(&mut self, expected: Expected, function: Callback) {
        self.functions.push((expected, Level::default(), function));
    }

    /// Never again calls the function with that number.
    pub fn forget(&mut self, number: usize) {
        if let Some((expected, ..)) = self.functions.get_mut(number) {
            *expected = Expected::Bytes(u64::MAX);
        }
    }

    /// Whether nobody waits for anything.
    pub fn is_empty(&self) -> bool {
        self.thresholds.is_empty() && self.functions.is_empty()
    }

    /// What is due.
    pub fn look(&mut self, seen: Seen) -> Vec<Due> {
        let mut due = Vec::new();
        for level in &mut self.thresholds {
            if level.crossed(seen) {
                due.push(Due::Threshold(level.bytes));
            }
        }
        for (number, (expected, level, function)) in self.functions.iter_mut().enumerate() {
            let crossed = match *expected {
                Expected::Bytes(bytes) => {
                    level.bytes = bytes;
                    level.crossed(seen)
                }
                Expected::ShareOfLastStep(share) => {
                    level.bytes = seen.last_step_peak.map_or(u64::MAX, |peak| (peak as f64 * share) as u64);
                    // Once in a step: the next may begin above the level and have its own peak all the same.
                    let step = seen.step.filter(|(_, high)| *high >= level.bytes).map(|(step, _)| step);
                    step.is_some() && std::mem::replace(&mut level.step, step) != step
                }
            };
            if crossed {
                let high = if matches!(expected, Expected::Bytes(_)) { None } else { seen.step };
                let (live_bytes, expected_bytes, time_ns) =
                    (high.map_or(seen.high, |(_, high)| high), level.bytes, seen.time_ns);
                due.push(Due::Call(number, function.clone(), Approach { live_bytes, expected_bytes, time_ns }));
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(high: u64, live: u64) -> Seen {
        Seen { high, low: live, live, ..Seen::default() }
    }

    #[test]
    fn a_threshold_is_crossed_once_until_an_eighth_is_gone() {
        let mut watch = Watch::default();
        watch.threshold(800);
        let mut crossed = |high, live| watch.look(seen(high, live)).len();
        assert_eq!(crossed(799, 799), 0);
        assert_eq!(crossed(800, 800), 1);
        assert_eq!(crossed(900, 700), 0, "700 is an eighth below, but not more");
        assert_eq!(crossed(900, 900), 0);
        assert_eq!(crossed(900, 699), 0);
        assert_eq!(crossed(850, 0), 1, "crossed between two looks, and gone again");
        assert_eq!(crossed(850, 0), 1);
        assert_eq!(crossed(850, 850), 1);
        let mut look = |low| watch.look(Seen { low, ..seen(850, 850) }).len();
        assert_eq!(look(700), 0);
        assert_eq!(look(699), 1, "fallen and risen between two looks");
        assert_eq!(look(850), 0);
    }

    #[test]
    fn a_share_of_the_last_step_is_due_once_a_step() {
        let mut watch = Watch::default();
        watch.before(Expected::ShareOfLastStep(0.5), Callback::new(|_| Then::Dump));
        let mut due = |high, step: Option<u64>, last_step_peak| {
            let step = step.map(|step| (step, high));
            let due = watch.look(Seen { step, last_step_peak, ..seen(high, high) });
            due.iter()
                .map(|due| matches!(due, Due::Call(0, _, Approach { expected_bytes: 500, .. })))
                .collect::<Vec<_>>()
        };
        assert_eq!(due(2_000, Some(1), None), [false; 0]);
        assert_eq!(due(2_000, None, Some(1_000)), [false; 0], "between two steps nothing is expected");
        assert_eq!(due(499, Some(2), Some(1_000)), [false; 0]);
        assert_eq!(due(500, Some(2), Some(1_000)), [true]);
        assert_eq!(due(900, Some(2), Some(1_000)), [false; 0]);
        assert_eq!(due(900, Some(3), Some(1_000)), [true]);
    }

    #[test]
    fn a_function_that_panics_is_told_apart() {
        let approach = Approach { live_bytes: 1, expected_bytes: 1, time_ns: 0 };
        assert_eq!(Callback::new(|_| Then::Dump).call(&approach), Some(Then::Dump));
        assert_eq!(Callback::new(|_| panic!("meant")).call(&approach), None);
    }
}
