//! The process as a whole: what is live, its high-water marks, and its extremes since somebody last looked.
use crate::amount::{Amount, positive};
use crate::high_water::{HighWaterMarks, Moment, Span};

/// The most requested bytes so far, and how many blocks they were.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestedPeak {
    pub requested: i64,
    pub blocks: i64,
    pub time_ns: u64,
}

/// What the live bytes of the process did since they were last looked at, for those who wait for a number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extremes {
    /// The most live bytes since the last look.
    pub high: u64,
    /// The least.
    pub low: u64,
    /// Live bytes now.
    pub live: u64,
    /// The number of the open step, and the most live bytes in it.
    pub step: Option<(u64, u64)>,
    /// The most live bytes in the step that ended last.
    pub last_step_peak: Option<u64>,
    /// When the look was, as the caller said.
    pub time_ns: u64,
}

/// See the module's description. While the recording is paused, no instant counts as a peak.
#[derive(Debug, Default)]
pub struct Peaks {
    live: Amount,
    marks: HighWaterMarks,
    requested: RequestedPeak,
    /// The most live bytes since the last sample.
    sample_high: i64,
    /// The most live bytes since the last look at the extremes, and the least.
    extremes_high: i64,
    extremes_low: i64,
    paused: bool,
}

impl Peaks {
    /// Everything that is live.
    pub fn live(&self) -> Amount {
        self.live
    }

    /// The high-water marks of the session and of the running step.
    pub fn marks(&self) -> &HighWaterMarks {
        &self.marks
    }

    /// The most requested bytes.
    pub fn requested(&self) -> RequestedPeak {
        self.requested
    }

    /// Whether the recording is paused.
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Adds `amount` to what is live; no peak is looked for yet.
    pub fn change(&mut self, amount: Amount) {
        self.live += amount;
        self.extremes_low = self.extremes_low.min(self.live.usable);
    }

    /// Makes this moment a peak in whatever it is one.
    pub fn raise(&mut self, at: Moment) {
        let Amount { usable, requested, blocks } = self.live;
        if requested >= self.requested.requested {
            self.requested = RequestedPeak { requested, blocks, time_ns: at.time_ns };
        }
        self.sample_high = self.sample_high.max(usable);
        self.extremes_high = self.extremes_high.max(usable);
        self.marks.raise(usable, at);
    }

    /// Pauses or resumes; gives whether that is something new.
    pub fn pause(&mut self, paused: bool) -> bool {
        if self.paused == paused {
            return false;
        }
        self.paused = paused;
        if !paused {
            (self.sample_high, self.extremes_high) = (self.live.usable, self.live.usable);
        }
        true
    }

    /// A step begins: it has a peak of its own.
    pub fn step_began(&mut self, at: Moment) {
        self.marks.begin(Span::Step, self.live.usable, at);
    }

    /// The most live bytes since this was last asked.
    pub fn take_sample_high(&mut self) -> i64 {
        std::mem::replace(&mut self.sample_high, self.live.usable)
    }

    /// The extremes since this was last asked; of the steps it knows nothing.
    pub fn take_extremes(&mut self, time_ns: u64) -> Extremes {
        let live = self.live.usable;
        let high = std::mem::replace(&mut self.extremes_high, if self.paused { 0 } else { live });
        let low = std::mem::replace(&mut self.extremes_low, live);
        Extremes { high: positive(high), low: positive(low), live: positive(live), time_ns, ..Extremes::default() }
    }
}
