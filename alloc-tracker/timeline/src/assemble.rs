//! Folds [`Record`]s into a [`Timeline`], in bounded memory.
//!
//! When there are more than [`MAX_SAMPLES`](crate::MAX_SAMPLES) samples, or their differences take too much memory
//! (`samples.rs`), neighbours are merged in pairs. The one with more live bytes stays, and its `high_bytes` becomes that of
//! the pair. So the timeline stays within its bound and keeps its peaks.
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::analysis_text::AnalysisText;
use crate::file::{
    Allocator, Book, ChildProcesses, DeviceMemory, DevicePrediction, Ending, Energy, HighWater, Machine, Mark,
    MarkBook, NearLimit, OutsideFigure, PeakRequested, Resolution, SharedMemory, Snapshot, Step, Totals, TrackerCost,
    Utilisation,
};
use crate::joined_steps::JoinedSteps;
use crate::record::Record;
use crate::samples::Samples;
use crate::scope::Scope;
use crate::stacks::Stacks;
use crate::unread::Unread;

/// The most steps that a timeline holds; when there are more, the earliest go.
pub const MAX_STEPS: usize = 4096;
/// How many marks of one name keep their table of owners; when there are more, the earliest lose theirs.
pub const MAX_MARK_TABLES: usize = 4;
/// How many books of marks of one name a timeline holds; when there are more, the earliest go.
const MAX_MARK_BOOKS: usize = MAX_MARK_TABLES;
/// Tables and books of all names that are kept: names may differ each time.
const MAX_TABLES: usize = 256;
const MAX_BOOKS: usize = MAX_TABLES;
/// The most marks that a timeline holds; when there are more, the earliest go.
const MAX_MARKS: usize = 16 * 1024;
/// The most instants near a limit that a timeline holds; when there are more, the earliest go.
const MAX_NEAR_LIMITS: usize = 64;

/// Makes a timeline of records: see [`Assembler::apply`] and [`Assembler::timeline`].
///
/// A clone shares what is long, until one of the two takes in more of it.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    pub(crate) started: bool,
    pub(crate) ending: Option<Ending>,
    pub(crate) duration_ns: u64,
    pub(crate) run: BTreeMap<String, serde_json::Value>,
    pub(crate) machine: Machine,
    pub(crate) allocator: Allocator,
    pub(crate) interposition: Vec<Resolution>,
    pub(crate) scopes: Arc<Vec<Scope>>,
    pub(crate) layer_kinds: BTreeMap<String, String>,
    pub(crate) interval_ns: u64,
    pub(crate) samples: Arc<Samples>,
    pub(crate) marks: VecDeque<Mark>,
    /// How many of the marks have a table.
    tables: usize,
    pub(crate) steps: Arc<VecDeque<Step>>,
    pub(crate) peak: Snapshot,
    pub(crate) peak_requested: Option<PeakRequested>,
    pub(crate) high_waters: Vec<HighWater>,
    pub(crate) totals: Totals,
    pub(crate) at_exit: Option<Snapshot>,
    pub(crate) book: Option<Book>,
    pub(crate) mark_books: Vec<MarkBook>,
    pub(crate) near_limits: VecDeque<NearLimit>,
    pub(crate) child_processes: Option<ChildProcesses>,
    pub(crate) lanes: Vec<OutsideFigure>,
    pub(crate) tracker: Option<TrackerCost>,
    pub(crate) analysis: Option<AnalysisText>,
    pub(crate) unread: Option<Unread>,
    pub(crate) device_predictions: Vec<DevicePrediction>,
    pub(crate) devices: Vec<DeviceMemory>,
    pub(crate) shared_memory: Option<SharedMemory>,
    pub(crate) stacks: Option<Stacks>,
    pub(crate) utilisation: Option<Utilisation>,
    pub(crate) step_times: JoinedSteps,
    pub(crate) energy: Option<Energy>,
}

impl Assembler {
    /// An assembler that has seen nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether a [`Record::Start`] has been seen.
    pub fn started(&self) -> bool {
        self.started
    }

    /// The shortest record that tells what `record` does after those so far. While memory grows each tick has a new peak, and most of its
    /// owners hold what they held.
    pub fn shortest(&self, record: Record) -> Record {
        match record {
            Record::Peak(peak) if !self.peak.rows.is_empty() => {
                let changes = peak.changes_since(&self.peak);
                if changes.rows.len() < peak.rows.len() { Record::PeakChanges(changes) } else { Record::Peak(peak) }
            }
            other => other,
        }
    }

    /// Takes in one record.
    pub fn apply(&mut self, record: Record) {
        match record {
            Record::Start { format_version: _, run, machine, allocator, interval_ns } => {
                self.started = true;
                self.run.extend(run);
                self.machine = machine;
                self.allocator = allocator;
                self.interval_ns = interval_ns;
            }
            Record::Run(key, value) => {
                self.run.insert(key, value);
            }
            Record::Resolution(resolution) => self.interposition.push(resolution),
            Record::Scope(scope) => Arc::make_mut(&mut self.scopes).push(scope),
            Record::LayerKind { layer, kind } if kind.is_empty() => {
                self.layer_kinds.remove(&layer);
            }
            Record::LayerKind { layer, kind } => {
                self.layer_kinds.insert(layer, kind);
            }
            Record::Sample(sample) => {
                self.reach(sample.time_ns);
                Arc::make_mut(&mut self.samples).whole(sample);
            }
            Record::Changes(sample) => {
                self.reach(sample.time_ns);
                Arc::make_mut(&mut self.samples).changed(sample);
            }
            Record::Mark(mark) => self.mark(mark),
            Record::Step(step) => {
                self.reach(step.end_ns);
                let steps = Arc::make_mut(&mut self.steps);
                steps.push_back(step);
                if steps.len() > MAX_STEPS {
                    steps.pop_front();
                }
            }
            Record::Peak(peak) => {
                self.reach(peak.time_ns);
                self.peak = peak;
            }
            Record::PeakChanges(changes) => {
                self.reach(changes.time_ns);
                self.peak.change(changes);
            }
            Record::PeakRequested(peak) => {
                self.reach(peak.time_ns);
                self.peak_requested = Some(peak);
            }
            Record::Book(book) => self.book = Some(book),
            Record::MarkBook(book) => self.mark_book(book),
            Record::NearLimit(near) => {
                self.reach(near.time_ns);
                self.near_limits.push_back(near);
                if self.near_limits.len() > MAX_NEAR_LIMITS {
                    self.near_limits.pop_front();
                }
            }
            Record::ChildProcesses(children) => {
                self.reach(children.time_ns);
                self.child_processes = Some(children);
            }
            Record::HighWaters(high_waters) => self.high_waters = high_waters,
            Record::Totals(totals) => self.totals = totals,
            Record::AtExit(snapshot) => self.at_exit = Some(snapshot),
            Record::OutsideFigures(lanes) => self.lanes = lanes,
            Record::Tracker(tracker) => self.tracker = Some(tracker),
            Record::Analysis(analysis) => {
                self.reach(analysis.time_ns);
                self.analysis = Some(AnalysisText::of(&analysis));
            }
            Record::Unread(unread) => self.unread = Some(*unread),
            Record::DevicePredictions(predictions) => self.device_predictions = predictions,
            Record::Devices(devices) => self.devices = devices,
            Record::SharedMemory(shared) => self.shared_memory = Some(shared),
            Record::Stacks(stacks) => self.stacks = Some(*stacks),
            Record::Utilisation(utilisation) => self.utilisation = Some(*utilisation),
            Record::StepTimes(step) => self.step_times.push(*step),
            Record::Energy(energy) => self.energy = Some(*energy),
            Record::End { time_ns, ending } => {
                self.reach(time_ns);
                self.ending = Some(ending);
            }
        }
    }

    /// The session has lasted until `time_ns` at least.
    fn reach(&mut self, time_ns: u64) {
        self.duration_ns = self.duration_ns.max(time_ns);
    }

    fn mark_book(&mut self, book: MarkBook) {
        let same = |kept: &MarkBook| kept.name == book.name;
        if self.mark_books.iter().filter(|&kept| same(kept)).count() >= MAX_MARK_BOOKS
            && let Some(oldest) = self.mark_books.iter().position(same)
        {
            self.mark_books.remove(oldest);
        }
        self.mark_books.push(book);
        if self.mark_books.len() > MAX_BOOKS {
            self.mark_books.remove(0);
        }
    }

    fn mark(&mut self, mark: Mark) {
        self.reach(mark.time_ns);
        if mark.snapshot.is_some() {
            let same = |m: &&mut Mark| m.name == mark.name && m.snapshot.is_some();
            let kept = self.marks.iter().filter(|m| m.name == mark.name && m.snapshot.is_some()).count();
            if kept >= MAX_MARK_TABLES
                && let Some(oldest) = self.marks.iter_mut().find(same)
            {
                oldest.snapshot = None;
                self.tables -= 1;
            }
        }
        self.tables += usize::from(mark.snapshot.is_some());
        self.marks.push_back(mark);
        if self.tables > MAX_TABLES
            && let Some(oldest) = self.marks.iter_mut().find(|mark| mark.snapshot.is_some())
        {
            oldest.snapshot = None;
            self.tables -= 1;
        }
        if self.marks.len() > MAX_MARKS {
            let first = self.marks.pop_front();
            self.tables -= usize::from(first.is_some_and(|mark| mark.snapshot.is_some()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Sample;

    #[test]
    fn only_the_latest_tables_of_all_names_are_kept() {
        let mut assembler = Assembler::new();
        for time_ns in 0..1_000 {
            let snapshot = Some(Snapshot { time_ns, ..Snapshot::default() });
            assembler.apply(Record::Mark(Mark { time_ns, name: format!("step {time_ns}"), live_bytes: 0, snapshot }));
        }
        let marks = assembler.timeline().marks;
        let with_table: Vec<u64> = marks.iter().filter(|m| m.snapshot.is_some()).map(|m| m.time_ns).collect();
        assert_eq!((marks.len(), with_table), (1_000, (1_000 - MAX_TABLES as u64..1_000).collect()));
    }

    #[test]
    fn only_the_latest_tables_of_a_name_are_kept() {
        let mut assembler = Assembler::new();
        for time_ns in 0..10 {
            let snapshot = Some(Snapshot { time_ns, ..Snapshot::default() });
            assembler.apply(Record::Mark(Mark { time_ns, name: "end".into(), live_bytes: 0, snapshot }));
        }
        let marks = assembler.timeline().marks;
        assert_eq!(marks.len(), 10);
        let with_table: Vec<u64> = marks.iter().filter(|m| m.snapshot.is_some()).map(|m| m.time_ns).collect();
        assert_eq!(with_table, [6, 7, 8, 9]);
    }

    #[test]
    fn a_log_without_an_end_is_a_recovered_timeline() {
        let mut assembler = Assembler::new();
        assembler.apply(Record::Sample(Sample { time_ns: 5, ..Sample::default() }));
        let timeline = assembler.timeline();
        assert_eq!(timeline.ending, Ending::Recovered);
        assert_eq!(timeline.duration_ns, 5);
    }

    /// A log that is written anew while the program runs must not say what only the end tells.
    #[test]
    fn what_only_an_end_tells_is_not_known_without_one() {
        let mut assembler = Assembler::new();
        for (time_ns, rss) in [(5, 70), (6, 90)] {
            let probes = vec![("rss".into(), Some(rss))];
            assembler.apply(Record::Sample(Sample { time_ns, probes, ..Sample::default() }));
        }
        let mut again = Assembler::new();
        assembler.records().into_iter().for_each(|record| again.apply(record));
        for timeline in [assembler.timeline(), again.timeline()] {
            assert_eq!((&timeline.at_exit, &timeline.tracker), (&None, &TrackerCost::default()));
            assert_eq!(timeline.tracker.overhead_bytes, None);
            assert_eq!((timeline.lanes.len(), timeline.lanes[0].peak_bytes), (1, Some(90)));
        }
    }
}
