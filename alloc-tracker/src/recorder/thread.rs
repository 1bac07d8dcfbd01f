//! The recorder's thread: one tick after the other until it is told to stop.
mod dump;
mod pace;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use alloc_timeline::{Ending, Lane, Record, TrackerCost};

use super::aside::{Aside, Job};
use super::output::Output;
use super::replay::Replay;
use super::sites::Told;
use super::watch::Watch;
use super::{extract, state, symbols};
use crate::event::ring;
use crate::ledger::totals;
use crate::ledger::{pool, publish};
use crate::probe::book::{Readings, Survey};
use crate::probe::{self, Probes};
use crate::scope::{as_tracker, too_deep};
use crate::stacks::{self, Modules};
use crate::sys;
use crate::tag::scope::{self, ScopeId};

/// Own peaks and counts go into the log after so many ticks, or a tenth of all there were ...
const SUMMARY_TICKS: u64 = 10;
/// ... but never more than so many later. Samples go there on every tick.
const MOST_SUMMARY_TICKS: u64 = 100;

/// The first analysis goes into the log after so many ticks, the next after twice as many, and so on ...
const FIRST_ANALYSIS_TICKS: u64 = 100;
/// ... but never more than so many later: it is much to write.
const MOST_ANALYSIS_TICKS: u64 = 6_000;

/// A recording under way.
#[derive(Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
    thread: Option<sys::Thread>,
}

#[derive(Debug)]
struct Shared {
    /// Rings when the recording is to end, which does not wait for the end of a tick.
    stop: sys::Bell,
    interval: Duration,
    desk: Mutex<Option<Desk>>,
}

/// What the recorder has before it.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) output: Output,
    probes: Probes,
    start_ns: u64,
    /// The time when it was last asked for.
    pub(super) now_ns: u64,
    ticks: u64,
    scopes: usize,
    pub(super) peak_event: (u64, i64),
    /// When the peak was first this high.
    pub(super) peak_ns: u64,
    /// The live bytes are higher than ever before.
    pub(super) is_rising: bool,
    /// The ring fills up fast.
    is_busy: bool,
    /// How many events had been read, and when.
    events: (u64, u64),
    /// Those of the book.
    pub(super) readings: Option<Readings>,
    pub(super) survey: Option<Survey>,
    pub(super) surveying: bool,
    pub(super) next_survey_ns: u64,
    pub(super) survey_pause: u64,
    /// How long the last book took.
    pub(super) book_ns: u64,
    pub(super) aside: Aside,
    rss: Vec<(u64, u64)>,
    /// The tick with the next own peaks and counts.
    next_summary: u64,
    /// The tick with the next analysis.
    next_analysis: u64,
    watch: Watch,
    dumps: BTreeMap<&'static str, u32>,
    /// What stacks are made of, where they are asked for.
    modules: Option<Modules>,
}

fn desk_of(shared: &Shared) -> MutexGuard<'_, Option<Desk>> {
    shared.desk.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Recorder {
    /// Begins. `first` are the records that come before everything else.
    pub fn start(output: Output, first: Vec<Record>, interval: Duration, watch: Watch) -> std::io::Result<Self> {
        let start_ns = sys::now_ns();
        let mut desk = Desk {
            output,
            probes: Probes::open(),
            start_ns,
            now_ns: start_ns,
            ticks: 0,
            scopes: 0,
            peak_event: (u64::MAX, 0),
            peak_ns: start_ns,
            is_rising: true,
            is_busy: false,
            events: (ring::passed(), start_ns),
            readings: None,
            survey: None,
            surveying: false,
            next_survey_ns: 0,
            survey_pause: 0,
            book_ns: 0,
            aside: Aside::start()?,
            rss: Vec::new(),
            next_summary: 0,
            next_analysis: FIRST_ANALYSIS_TICKS,
            watch,
            dumps: BTreeMap::new(),
            modules: stacks::on().then(stacks::begin),
        };
        first.into_iter().for_each(|record| desk.output.record(record));
        if desk.modules.is_some() {
            desk.output.record(Record::Stacks(Box::new(symbols::promise())));
        }
        // The replay first, then the events, then what was before them: nothing falls in between.
        state::work(|state| *state = Some(Replay::new(start_ns)));
        publish::begin();
        let before = |scope: ScopeId| totals::of(scope).read();
        state::work(|state| state.as_mut().map(|replay| replay.square(before, 0, start_ns)));
        // Killed the next moment, the process leaves a log that says how it began.
        desk.tick();
        let shared = Arc::new(Shared { stop: sys::Bell::default(), interval, desk: Mutex::new(Some(desk)) });
        let worker = Arc::clone(&shared);
        let spawned = sys::Thread::spawn(c"alloc-recorder", move || run(&worker));
        match spawned {
            Ok(thread) => Ok(Recorder { shared, thread: Some(thread) }),
            Err(error) => {
                publish::end();
                state::work(|state| *state = None);
                Err(error)
            }
        }
    }

    /// Adds a fact about the run.
    pub fn fact(&self, key: &str, value: serde_json::Value) {
        if let Some(desk) = desk_of(&self.shared).as_mut() {
            desk.output.record(Record::Run(key.to_owned(), value));
        }
    }

    /// Writes the timeline so far beside the one to come; gives its path and whether that worked.
    pub fn dump(&self) -> Option<(PathBuf, std::io::Result<()>)> {
        desk_of(&self.shared).as_mut()?.dump("dump")
    }

    /// Stops the thread, takes in what is left, and gives the output to be finished.
    pub fn stop(mut self, ending: Ending) -> Option<Output> {
        publish::end();
        self.shared.stop.ring();
        if let Some(thread) = self.thread.take() {
            // A panic in the recorder loses its samples, not the program.
            thread.join();
        }
        let mut desk = desk_of(&self.shared).take()?;
        desk.end(ending);
        Some(desk.output)
    }
}

fn run(shared: &Shared) {
    quietly(|| {
        loop {
            let began = sys::now_ns();
            if let Some(desk) = desk_of(shared).as_mut() {
                desk.tick();
            }
            dump::watch(shared);
            let spent = Duration::from_nanos(sys::now_ns().saturating_sub(began));
            // A tick that took long is followed by as long a pause: the recorder never takes more than half a core.
            if pace::wait(shared, shared.interval.saturating_sub(spent).max(spent.min(shared.interval))) {
                return;
            }
        }
    });
}

/// Does `work` as a thread of the tracker's: what it allocates is the tracker's.
pub(super) fn quietly(work: impl FnOnce()) {
    if let Some(slot) = pool::as_tracker_without_slot(pool::acquire) {
        as_tracker(slot, work);
    }
}

impl Desk {
    pub(super) fn since_start(&self, time_ns: u64) -> u64 {
        time_ns.saturating_sub(self.start_ns)
    }

    /// The time, no earlier than when it was last asked for.
    pub(super) fn now(&mut self) -> u64 {
        self.now_ns = sys::later_ns(self.now_ns);
        self.now_ns
    }

    fn tick(&mut self) {
        let readings = self.probes.read(self.ticks);
        let now = self.now();
        let rss = readings.iter().find(|(name, _)| name == "rss").and_then(|(_, bytes)| *bytes);
        self.rss.extend(rss.map(|bytes| (self.since_start(now), bytes)));
        if self.rss.len() > 8192 {
            self.rss.drain(..4096);
        }
        let tick = state::work(|state| {
            let replay = state.as_mut()?;
            // The next sample after a pause tells what changed in it.
            let sample = (!replay.paused).then(|| replay.changes(self.since_start(now), readings));
            let peak = replay.peak_event();
            let due = self.ticks >= self.next_summary;
            let analysis =
                (self.ticks >= self.next_analysis).then(|| replay.analysis(now, &extract::counts_by_scope()));
            // Blocks of the peak may be known better by now; that is told less often than a new peak.
            let amended = due && std::mem::take(&mut replay.peak_amended);
            let fresh = (amended || peak != self.peak_event).then(|| replay.snapshot_peak());
            let summary = due.then(|| {
                let totals = extract::totals(&extract::counts_by_scope());
                (replay.high_waters(), totals, replay.peak_requested())
            });
            let records = std::mem::take(&mut replay.records);
            Some((sample, records, peak, fresh, summary, analysis))
        });
        let Some((sample, records, peak, fresh, summary, analysis)) = tick else { return };
        self.ticks += 1;
        self.note_events();
        self.new_scopes();
        records.into_iter().for_each(|record| self.shifted(record));
        // Before the sample: a log that is cut short between the two has no sample above its peak.
        if let Some(snapshot) = fresh {
            self.shifted(Record::Peak(snapshot));
            self.peak_ns = if peak.1 > self.peak_event.1 { self.now_ns } else { self.peak_ns };
            self.peak_event = peak;
        }
        let live = sample.as_ref().map(|sample| sample.live_bytes);
        sample.into_iter().for_each(|sample| self.output.record(Record::Changes(sample)));
        // At once: what follows takes longer, and the process may be killed in it.
        self.output.flush();
        live.into_iter().for_each(|live| self.book_near_peak(live));
        if let Some((waters, totals, requested)) = summary {
            self.next_summary = self.ticks + (self.ticks / 10).clamp(SUMMARY_TICKS, MOST_SUMMARY_TICKS);
            self.shifted(Record::PeakRequested(requested));
            self.shifted(Record::HighWaters(waters));
            self.output.record(Record::Totals(totals));
        }
        if let Some(analysis) = analysis {
            self.next_analysis = self.ticks + self.ticks.min(MOST_ANALYSIS_TICKS);
            self.shifted(Record::Analysis(Box::new(analysis)));
        }
        self.output.flush();
        if let Some((records, path)) = self.output.too_long() {
            self.aside.ask(Job::Log(records, path));
        }
        self.take_in();
        if let Some(modules) = &mut self.modules {
            modules.tick();
        }
    }

    /// Records a record of the replay.
    fn shifted(&mut self, record: Record) {
        let record = self.since_began(record);
        self.output.record(record);
    }

    /// A record of the replay, whose times are the clock's, with times of the session.
    fn since_began(&self, mut record: Record) -> Record {
        match &mut record {
            Record::Peak(snapshot) | Record::AtExit(snapshot) => snapshot.time_ns = self.since_start(snapshot.time_ns),
            Record::PeakRequested(peak) => peak.time_ns = self.since_start(peak.time_ns),
            Record::Mark(mark) => {
                mark.time_ns = self.since_start(mark.time_ns);
                if let Some(snapshot) = &mut mark.snapshot {
                    snapshot.time_ns = mark.time_ns;
                }
            }
            Record::Step(step) => {
                for time in [&mut step.start_ns, &mut step.end_ns, &mut step.peak_ns] {
                    *time = time.saturating_sub(self.start_ns);
                }
            }
            Record::HighWaters(waters) => {
                waters.iter_mut().for_each(|water| water.time_ns = self.since_start(water.time_ns));
            }
            Record::Analysis(analysis) => {
                analysis.time_ns = self.since_start(analysis.time_ns);
                let figures = analysis.figures.iter_mut();
                figures.for_each(|figures| figures.peak_ns = self.since_start(figures.peak_ns));
            }
            _ => {}
        }
        record
    }

    fn new_scopes(&mut self) {
        let count = scope::count();
        for scope in self.scopes..count {
            self.output.record(Record::Scope(scope::describe(scope as ScopeId)));
        }
        self.scopes = count;
    }

    /// What the tracker cost so far.
    fn cost(&self) -> TrackerCost {
        let overhead = probe::cost::overhead();
        TrackerCost {
            overhead_bytes: overhead.values().sum(),
            overhead,
            dropped_events: totals::DROPPED_EVENTS.load(Ordering::Relaxed),
            foreign_frees: totals::FOREIGN_FREES.load(Ordering::Relaxed),
            overflowed_scopes: scope::overflowed() + too_deep(),
            losses: self.output.losses.clone(),
        }
    }

    /// Finds the names of sampled calls: the record of who allocated, by stack.
    fn named(&mut self, sites: Told) -> Option<Record> {
        let (modules, losses) = (self.modules.as_ref()?, &mut self.output.losses);
        // What readers of debug information do with a damaged file must not cost the timeline.
        let named = catch_unwind(AssertUnwindSafe(|| symbols::stacks(sites, modules, losses)));
        if named.is_err() {
            losses.push("stacks: their names could not be found".to_owned());
        }
        named.ok().map(|stacks| Record::Stacks(Box::new(stacks)))
    }

    /// What comes last in the file.
    fn end(&mut self, ending: Ending) {
        self.tick();
        self.await_book();
        let end_ns = self.now();
        let last = state::work(|state| {
            let mut replay = state.take()?;
            let counts = extract::counts_by_scope();
            let of = |scope: ScopeId| counts.get(usize::from(scope)).copied().unwrap_or_default();
            replay.square(of, u64::MAX, end_ns);
            let peak = replay.snapshot_peak();
            let at_exit = replay.snapshot_now(end_ns);
            let analysis = replay.analysis(end_ns, &counts);
            let peaks = (peak, replay.peak_requested());
            let sites = self.modules.is_some().then(|| replay.sites());
            let records = std::mem::take(&mut replay.records);
            Some((peaks, at_exit, replay.high_waters(), records, counts, analysis, sites))
        });
        let Some(((peak, requested), at_exit, waters, records, counts, analysis, sites)) = last else { return };
        self.new_scopes();
        records.into_iter().for_each(|record| self.shifted(record));
        let peak_ns = self.since_start(peak.time_ns);
        self.shifted(Record::Peak(peak));
        self.shifted(Record::PeakRequested(requested));
        self.shifted(Record::AtExit(at_exit));
        self.shifted(Record::HighWaters(waters));
        self.shifted(Record::Analysis(Box::new(analysis)));
        self.output.record(Record::Totals(extract::totals(&counts)));
        if let Some(stacks) = sites.and_then(|sites| self.named(sites)) {
            self.output.record(stacks);
        }
        if let Some(modules) = self.modules.take() {
            modules.keep();
        }
        let at_peak = self.rss.iter().min_by_key(|(time, _)| time.abs_diff(peak_ns)).map(|&(_, bytes)| bytes);
        let lanes: Vec<Lane> = self.probes.lanes(at_peak);
        self.output.record(Record::Lanes(lanes));
        let cost = self.cost();
        self.output.record(Record::Tracker(cost));
        self.output.record(Record::End { time_ns: self.since_start(end_ns), ending });
    }
}
