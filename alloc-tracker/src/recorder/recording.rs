//! A recording: what the recorder does at the beginning and between two ticks, and the last records. What it does on a tick is in
//! `ticks.rs`.
use std::sync::{Arc, Mutex};

use alloc_replay::{SessionPeak, with_session_times};
use alloc_timeline::{Book, Ending, Mark, MarkBook, Record};

use super::background::{Background, Done};
use super::beyond_keeper::BeyondKeeper;
use super::book_keeper::{self, BookKeeper};
use super::children_keeper::ChildrenKeeper;
use super::clock::SessionClock;
use super::full_table::FullTable;
use super::interval::{Interval, TickCost};
use super::metering::Metering;
use super::near_limit::NearLimits;
use super::new_names::NewNames;
use super::output::Output;
use super::pace::Pace;
use super::quiet::Quiet;
use super::rss_at_peak::RssAtPeak;
use super::sampled_stacks::SampledStacks;
use super::schedule::Schedule;
use super::state::with_replay;
use super::step_clock::StepClock;
use super::thresholds::Thresholds;
use super::{closing, counts};
use crate::probe::Probes;
use crate::probe::beyond::{self, BeyondReadings};
use crate::probe::spent;
use crate::probe::survey::Survey;
use crate::settings::times::Times;

/// All that the recorder's thread works with while a session records.
#[derive(Debug)]
pub struct Recording {
    pub(super) clock: SessionClock,
    pub(super) output: Output,
    pub(super) thresholds: Thresholds,
    pub(super) stacks: SampledStacks,
    pub(super) rss: RssAtPeak,
    pub(super) probes: Probes,
    pub(super) near_limits: NearLimits,
    /// There when the session was asked for times.
    pub(super) metering: Option<Metering>,
    pub(super) schedule: Schedule,
    pub(super) quiet: Quiet,
    pub(super) names: NewNames,
    pub(super) full_table: FullTable,
    /// The peak that was recorded last.
    pub(super) peak: SessionPeak,
    pub(super) books: BookKeeper,
    pub(super) beyond: BeyondKeeper,
    pub(super) children: ChildrenKeeper,
    pub(super) pace: Pace,
    pub(super) tick_cost: TickCost,
    pub(super) background: Background,
}

impl Recording {
    /// Begins to record. `first` are the first records of the timeline; `times` says what is measured by scope.
    ///
    /// # Errors
    /// When the system has no thread left.
    pub fn begin(
        output: Output,
        first: Vec<Record>,
        thresholds: Thresholds,
        times: Times,
        probes: Probes,
    ) -> std::io::Result<Self> {
        let clock = SessionClock::start();
        let now = clock.start_ns();
        spent::begin(now);
        let near_limits = NearLimits::open(thresholds.least_room);
        let metering = (times > Times::Off).then(|| Metering::begin(times == Times::WithThreadCpu, probes.gpu_power()));
        let mut recording = Recording {
            clock,
            output,
            thresholds,
            stacks: SampledStacks::begin(),
            rss: RssAtPeak::default(),
            probes,
            near_limits,
            metering,
            schedule: Schedule::new(),
            quiet: Quiet::default(),
            names: NewNames::default(),
            full_table: FullTable::default(),
            peak: SessionPeak { event: u64::MAX, live_bytes: 0 },
            books: BookKeeper::new(now),
            beyond: BeyondKeeper::default(),
            children: ChildrenKeeper::new(),
            pace: Pace::new(now),
            tick_cost: TickCost::default(),
            background: Background::start()?,
        };
        first.into_iter().chain(recording.stacks.announcement()).for_each(|record| recording.output.record(record));
        Ok(recording)
    }

    /// A look between two ticks: replays the events so far, and takes a book if one is due.
    pub fn look(&mut self) {
        self.take_background_work();
        let live = live_bytes();
        self.pace.look(self.clock.now_ns());
        // What a pause has is no peak, and its book would keep that of a peak from being taken.
        if is_counting() {
            self.look_for_book(live);
        }
    }

    /// Records a mark and the book of this instant; `survey` and `beyond` were read just before. The mark comes after those that the
    /// program has added so far.
    pub fn mark_with_book(&mut self, name: &str, survey: &Survey, beyond: &BeyondReadings) {
        let now = self.clock.now_ns();
        let slack_bytes = counts::slack_bytes();
        let read = with_replay(|replay| (replay.take_records(slack_bytes), replay.live_bytes()));
        let Some((before, live_bytes)) = read else { return };
        self.write_new_scopes();
        before.into_iter().for_each(|record| self.record_replayed(record));
        self.record_replayed(Record::Mark(Mark { time_ns: now, name: name.to_owned(), live_bytes, snapshot: None }));
        let book = book_keeper::book_now(survey, &mut self.clock);
        let mark = |book: Book| {
            let book = Book { beyond: beyond::lines(book.rss_bytes, beyond), ..book };
            MarkBook { name: name.to_owned(), time_ns: self.clock.since_start(now), book }
        };
        book.map(mark).into_iter().for_each(|mark| self.output.record(Record::MarkBook(mark)));
    }

    /// Who is to be told of steps, when the session was asked for times.
    pub fn step_clock(&self) -> Option<Arc<Mutex<StepClock>>> {
        self.metering.as_ref().map(Metering::step_clock)
    }

    /// The time from one tick to the next, when this was asked for.
    pub fn interval(&self, asked: Interval) -> std::time::Duration {
        self.tick_cost.interval(asked)
    }

    /// How long the recorder may sleep until the next look.
    pub fn sleep(&self) -> std::time::Duration {
        self.pace.sleep(!self.thresholds.is_empty() || self.books.is_urgent(self.clock.latest_ns()))
    }

    pub(super) fn look_for_book(&mut self, live: u64) {
        let book = self.books.look(live, &mut self.clock, &self.background, &mut self.probes);
        book.into_iter().for_each(|book| self.record_book(book));
        self.beyond.ask(self.clock.latest_ns(), &self.background);
    }

    pub(super) fn record_book(&mut self, book: Book) {
        let book = self.beyond.complete(book, self.clock.latest_ns(), &self.background);
        self.output.record(Record::Book(book));
    }

    /// Takes over what the background thread has finished.
    pub(super) fn take_background_work(&mut self) {
        while let Some(done) = self.background.done() {
            self.take(done);
        }
    }

    pub(super) fn take(&mut self, done: Done) {
        match done {
            Done::Survey(survey, spent_ns) => {
                let live = live_bytes();
                let book = self.books.surveyed(*survey, spent_ns, live, &mut self.clock, &mut self.probes);
                book.into_iter().for_each(|book| self.record_book(book));
            }
            Done::Beyond(readings) => {
                let book = self.beyond.read(*readings);
                book.into_iter().for_each(|book| self.output.record(Record::Book(book)));
            }
            Done::Children(found) => match self.children.found(*found, &mut self.clock) {
                Ok(most) => most.into_iter().for_each(|most| self.output.record(most)),
                Err(reason) => self.output.lose(reason),
            },
            Done::Compact(compacted) => self.output.replace_log(compacted),
        }
    }

    /// Records a record of the replay, after it has changed the clock's times in it to times since the session began.
    pub(super) fn record_replayed(&mut self, record: Record) {
        let record = with_session_times(record, self.clock.start_ns());
        self.output.record(self.probes.completed(record, |ns| self.clock.since_start(ns)));
    }

    /// What was used of the processors so far, and energy where the session was asked for times. All scopes in it must
    /// have been recorded.
    pub(super) fn utilisation(&mut self) -> Vec<Record> {
        let process = self.probes.utilisation();
        let Some(metering) = &self.metering else { return vec![Record::Utilisation(Box::new(process))] };
        let mut times = metering.times(process);
        // A scope may be new since this tick's scopes were recorded. (Energy is split on ticks only.)
        let scopes = self.names.scopes();
        times.scopes.retain(|row| (row.scope as usize) < scopes);
        vec![Record::Utilisation(Box::new(times)), Record::Energy(Box::new(metering.energy()))]
    }

    /// Records the scopes that are new, and the kinds of layers.
    pub(super) fn write_new_scopes(&mut self) {
        self.names.take().into_iter().for_each(|record| self.output.record(record));
    }

    /// Gives `write` the last records of a timeline, of a dump as well as of a finished one. `replayed` is the result of
    /// [`closing::replayed`].
    pub(super) fn close(
        &mut self,
        replayed: Vec<Record>,
        now_ns: u64,
        ending: Ending,
        mut write: impl FnMut(&mut Output, Record),
    ) {
        let rss_at_peak = closing::peak_ns(&replayed).and_then(|peak_ns| self.rss.at(peak_ns));
        // One by one, so that a record and the one that it replaces in the output are not both part of the tracker's cost.
        let mut told = Vec::new();
        for record in replayed {
            match record {
                Record::Devices(devices) => told = devices,
                other => write(&mut self.output, other),
            }
        }
        let devices = self.probes.device_memory(told, |ns| self.clock.since_start(ns));
        if !devices.is_empty() {
            write(&mut self.output, Record::Devices(devices));
        }
        let figures = self.probes.figures(rss_at_peak);
        write(&mut self.output, Record::OutsideFigures(figures));
        // The threads' processor time is read last, so that what the probes took is a part of it.
        let cost = closing::tracker_cost(&mut self.output);
        write(&mut self.output, Record::Tracker(cost));
        self.utilisation().into_iter().for_each(|record| write(&mut self.output, record));
        write(&mut self.output, Record::End { time_ns: self.clock.since_start(now_ns), ending });
    }
}

/// Whether a session records and is not paused.
pub(super) fn is_counting() -> bool {
    with_replay(|replay| !replay.is_paused()).unwrap_or_default()
}

fn live_bytes() -> u64 {
    with_replay(|replay| replay.live_bytes()).unwrap_or(0)
}
