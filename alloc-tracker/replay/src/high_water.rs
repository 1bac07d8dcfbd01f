//! High-water marks of the whole process, and amounts that know what they were at them.
//!
//! A peak is remembered without copying all amounts at every new one (the idea of memray's high-water mark). Every new
//! peak bumps an epoch. An amount that changes for the first time in an epoch saves its old value first. So an amount's
//! value at the peak is the one saved in the present epoch, or, if none was, the present one.
use crate::amount::Amount;

/// When something happens.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Number of the event.
    pub event: u64,
    /// Time of the event.
    pub time_ns: u64,
    /// How many steps have begun.
    pub step: u64,
}

/// Which peak: that of the whole session, or that of the step that is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    Session = 0,
    Step = 1,
}

impl Span {
    /// Both spans.
    pub const ALL: [Span; 2] = [Span::Session, Span::Step];
}

/// The highest point of a span so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct HighWaterMark {
    pub usable: i64,
    pub time_ns: u64,
    /// Number of the event that reached it.
    pub event: u64,
    /// Bumped by every new peak, and by every new span.
    pub epoch: u64,
}

/// The mark of each span.
#[derive(Clone, Copy, Debug)]
pub struct HighWaterMarks([HighWaterMark; 2]);

impl HighWaterMarks {
    /// The mark of `span`.
    pub fn of(&self, span: Span) -> &HighWaterMark {
        &self.0[span as usize]
    }

    /// Makes this moment the peak of each span in which there was none as high. Of equal peaks the latest counts.
    pub fn raise(&mut self, usable: i64, at: Moment) {
        for mark in &mut self.0 {
            if usable >= mark.usable {
                *mark = HighWaterMark { usable, time_ns: at.time_ns, event: at.event, epoch: mark.epoch + 1 };
            }
        }
    }

    /// Makes this moment the peak of `span`, however high it was before.
    pub fn begin(&mut self, span: Span, usable: i64, at: Moment) {
        let mark = &mut self.0[span as usize];
        *mark = HighWaterMark { usable, time_ns: at.time_ns, event: at.event, epoch: mark.epoch + 1 };
    }
}

impl Default for HighWaterMarks {
    /// Marks at zero. Their epoch is not that of an amount that has saved nothing.
    fn default() -> Self {
        HighWaterMarks([HighWaterMark { epoch: 1, ..HighWaterMark::default() }; 2])
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Saved {
    epoch: u64,
    amount: Amount,
}

/// An amount now and at the peaks.
#[derive(Clone, Debug, Default)]
pub struct AmountAtPeaks {
    live: Amount,
    saved: [Saved; 2],
}

impl AmountAtPeaks {
    pub fn live(&self) -> Amount {
        self.live
    }

    /// What it was at the peak of `span`.
    pub fn at(&self, span: Span, marks: &HighWaterMarks) -> Amount {
        let saved = &self.saved[span as usize];
        if saved.epoch == marks.of(span).epoch { saved.amount } else { self.live }
    }

    /// Adds `amount`. What it was at the peaks stays.
    pub fn change(&mut self, amount: Amount, marks: &HighWaterMarks) {
        for span in Span::ALL {
            self.save(span, marks);
        }
        self.live += amount;
    }

    /// Adds `amount` to what it was at the peak of `span`, and to nothing else.
    pub fn change_at_peak(&mut self, span: Span, amount: Amount, marks: &HighWaterMarks) {
        self.save(span, marks);
        self.saved[span as usize].amount += amount;
    }

    fn save(&mut self, span: Span, marks: &HighWaterMarks) {
        let (saved, epoch) = (&mut self.saved[span as usize], marks.of(span).epoch);
        if saved.epoch != epoch {
            *saved = Saved { epoch, amount: self.live };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(usable: i64) -> Amount {
        Amount { usable, requested: usable, blocks: 0 }
    }

    fn at(event: u64) -> Moment {
        Moment { event, time_ns: 10 * event, step: 0 }
    }

    /// 100 at the session's peak, of which 30 turn out to be somebody else's; 50 at the peak of a step that began at 40.
    #[test]
    fn an_amount_knows_what_it_was_at_each_peak() {
        let (mut marks, mut amount) = (HighWaterMarks::default(), AmountAtPeaks::default());
        amount.change(bytes(100), &marks);
        marks.raise(100, at(1));
        amount.change(bytes(-60), &marks);
        marks.raise(40, at(2));
        marks.begin(Span::Step, 40, at(3));
        amount.change(bytes(10), &marks);
        marks.raise(50, at(4));
        amount.change(bytes(-50), &marks);
        amount.change_at_peak(Span::Session, bytes(-30), &marks);
        let peaks = Span::ALL.map(|span| (amount.at(span, &marks).usable, marks.of(span).event));
        assert_eq!((peaks, amount.live()), ([(70, 1), (50, 4)], bytes(0)));
    }

    #[test]
    fn of_equal_peaks_the_latest_counts() {
        let mut marks = HighWaterMarks::default();
        marks.raise(100, at(1));
        marks.raise(100, at(2));
        marks.raise(99, at(3));
        assert_eq!((marks.of(Span::Session).event, marks.of(Span::Session).time_ns), (2, 20));
    }
}
