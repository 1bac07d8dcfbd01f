//! Thresholds of the live bytes at which the recorder writes a dump, and functions that it calls before a peak.
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use alloc_replay::Extremes;

use crate::probe::limits::Room;
use crate::settings::LeastRoom;

/// The peak that a program expects; see [`SessionBuilder::before_peak`](crate::SessionBuilder::before_peak).
///
/// ```no_run
/// use alloc_tracker::{Expected, PeakAction, Session};
///
/// let session = Session::builder()
///     .before_peak(Expected::Bytes(8 << 30), |_| PeakAction::Dump)
///     .before_peak(Expected::ShareOfLastStep(0.9), |_| PeakAction::Continue)
///     .start()?;
/// # Ok::<(), alloc_tracker::SessionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Expected {
    /// A peak of so many live bytes (usable bytes).
    Bytes(u64),
    /// A peak of this share of the last step's peak, such as 0.9. No peak is expected before the first step has ended.
    ShareOfLastStep(f64),
}

/// The argument of a function that is called before a peak.
///
/// ```
/// use alloc_tracker::{Approach, PeakAction};
///
/// fn near_the_peak(approach: &Approach) -> PeakAction {
///     let excess = approach.live_bytes.saturating_sub(approach.expected_bytes);
///     if excess > 1 << 30 { PeakAction::Dump } else { PeakAction::Continue }
/// }
/// # let _: fn(&Approach) -> PeakAction = near_the_peak;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Approach {
    /// The most live bytes (usable bytes): with [`Expected::Bytes`] since the recorder looked last, with
    /// [`Expected::ShareOfLastStep`] in this step.
    pub live_bytes: u64,
    /// The number of bytes that was reached (usable bytes).
    pub expected_bytes: u64,
    /// Nanoseconds since the session began.
    pub time_ns: u64,
}

/// The result of a function that is called before a peak: what the recorder shall do.
///
/// ```
/// assert_eq!(alloc_tracker::PeakAction::default(), alloc_tracker::PeakAction::Continue);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PeakAction {
    /// Go on recording.
    #[default]
    Continue,
    /// Write a dump, which is a copy of the timeline so far, and go on.
    Dump,
}

type Function = dyn FnMut(&Approach) -> PeakAction + Send;

/// A function of the program, called on a thread that has its descriptors.
#[derive(Clone)]
pub struct Callback(Arc<Mutex<Box<Function>>>);

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Callback")
    }
}

impl Callback {
    /// Wraps `function`.
    pub fn new(function: impl FnMut(&Approach) -> PeakAction + Send + 'static) -> Self {
        Callback(Arc::new(Mutex::new(Box::new(function))))
    }

    /// Calls the function; `None` when it panicked.
    pub fn call(&self, approach: &Approach) -> Option<PeakAction> {
        let call = || self.0.lock().unwrap_or_else(PoisonError::into_inner)(approach);
        catch_unwind(AssertUnwindSafe(call)).ok()
    }
}

/// All thresholds and functions of a session.
#[derive(Clone, Debug, Default)]
pub struct Thresholds {
    dumps: Vec<Threshold>,
    functions: Vec<(Expected, Threshold, Callback)>,
    /// How little must be left until a limit of the process.
    pub least_room: LeastRoom,
    /// Whether nothing is said on stderr when a limit comes near.
    pub is_quiet: bool,
}

/// A threshold that was crossed, a function whose peak was reached, or a limit that has come near.
#[derive(Debug)]
pub enum Due {
    /// The threshold of so many bytes.
    Threshold(u64),
    /// The function's number, the function, and its argument.
    Call(usize, Callback, Approach),
    /// The limit that has come near.
    NearLimit(Room),
}

/// A number of bytes that is crossed once, and again only after the live bytes have fallen by an eighth below it.
#[derive(Clone, Copy, Debug, Default)]
struct Threshold {
    bytes: u64,
    above: bool,
    /// The step in which it was crossed last.
    step: Option<u64>,
}

impl Threshold {
    fn crossed(&mut self, extremes: Extremes) -> bool {
        // Of the time between two looks only the lowest and the highest live bytes are known. If they were low enough
        // in between and are at the threshold now, that is a new crossing.
        let enough = self.bytes - self.bytes / 8;
        let fallen = self.above && extremes.low < enough;
        let crossed = if self.above { fallen && extremes.live >= self.bytes } else { extremes.high >= self.bytes };
        self.above = extremes.live >= enough && (crossed || self.above && !fallen);
        crossed
    }
}

impl Thresholds {
    /// Adds a threshold of `bytes` for a dump.
    pub fn dump_at(&mut self, bytes: u64) {
        self.dumps.push(Threshold { bytes, ..Threshold::default() });
    }

    /// Adds a function that is called before the expected peak.
    pub fn call_before(&mut self, expected: Expected, function: Callback) {
        self.functions.push((expected, Threshold::default(), function));
    }

    /// Makes sure that the function with this number is never called again.
    pub fn forget(&mut self, number: usize) {
        if let Some((expected, ..)) = self.functions.get_mut(number) {
            *expected = Expected::Bytes(u64::MAX);
        }
    }

    /// Whether there is no threshold and no function.
    pub fn is_empty(&self) -> bool {
        self.dumps.is_empty() && self.functions.is_empty()
    }

    /// Compares the live bytes with all thresholds; returns what is due.
    pub fn look(&mut self, extremes: Extremes) -> Vec<Due> {
        let mut due = Vec::new();
        for level in &mut self.dumps {
            if level.crossed(extremes) {
                due.push(Due::Threshold(level.bytes));
            }
        }
        for (number, (expected, level, function)) in self.functions.iter_mut().enumerate() {
            let crossed = match *expected {
                Expected::Bytes(bytes) => {
                    level.bytes = bytes;
                    level.crossed(extremes)
                }
                Expected::ShareOfLastStep(share) => {
                    level.bytes = extremes.last_step_peak.map_or(u64::MAX, |peak| (peak as f64 * share) as u64);
                    // At most once in a step. The next step may begin above the threshold, and is due all the same.
                    let step = extremes.step.filter(|(_, high)| *high >= level.bytes).map(|(step, _)| step);
                    step.is_some() && std::mem::replace(&mut level.step, step) != step
                }
            };
            if crossed {
                let high = if matches!(expected, Expected::Bytes(_)) { None } else { extremes.step };
                let (live_bytes, expected_bytes, time_ns) =
                    (high.map_or(extremes.high, |(_, high)| high), level.bytes, extremes.time_ns);
                due.push(Due::Call(number, function.clone(), Approach { live_bytes, expected_bytes, time_ns }));
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(high: u64, live: u64) -> Extremes {
        Extremes { high, low: live, live, ..Extremes::default() }
    }

    #[test]
    fn a_threshold_is_crossed_once_until_an_eighth_is_gone() {
        let mut thresholds = Thresholds::default();
        thresholds.dump_at(800);
        let mut crossed = |high, live| thresholds.look(seen(high, live)).len();
        assert_eq!(crossed(799, 799), 0);
        assert_eq!(crossed(800, 800), 1);
        assert_eq!(crossed(900, 700), 0, "700 is an eighth below, but not more");
        assert_eq!(crossed(900, 900), 0);
        assert_eq!(crossed(900, 699), 0);
        assert_eq!(crossed(850, 0), 1, "crossed between two looks, and gone again");
        assert_eq!(crossed(850, 0), 1);
        assert_eq!(crossed(850, 850), 1);
        let mut look = |low| thresholds.look(Extremes { low, ..seen(850, 850) }).len();
        assert_eq!(look(700), 0);
        assert_eq!(look(699), 1, "fallen and risen between two looks");
        assert_eq!(look(850), 0);
    }

    #[test]
    fn a_share_of_the_last_step_is_due_once_a_step() {
        let mut thresholds = Thresholds::default();
        thresholds.call_before(Expected::ShareOfLastStep(0.5), Callback::new(|_| PeakAction::Dump));
        let mut due = |high, step: Option<u64>, last_step_peak| {
            let step = step.map(|step| (step, high));
            let due = thresholds.look(Extremes { step, last_step_peak, ..seen(high, high) });
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
        assert_eq!(Callback::new(|_| PeakAction::Dump).call(&approach), Some(PeakAction::Dump));
        assert_eq!(Callback::new(|_| panic!("meant")).call(&approach), None);
    }
}
