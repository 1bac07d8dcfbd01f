//! Folds [`Record`]s into a [`Timeline`], in bounded memory.
//!
//! When there are more than [`MAX_SAMPLES`](crate::MAX_SAMPLES) samples, or their differences take too much memory
//! (`samples.rs`), neighbours are merged in pairs. The one with more live bytes stays, and its `high_bytes` becomes that of
//! the pair. So the timeline stays within its bound and keeps its peaks.
use std::collections::{BTreeMap, VecDeque};

use crate::analysis::Analysis;
use crate::derived_phase::DerivedPhase;
use crate::file::{
    Allocator, AtExit, Book, ChildProcesses, DeviceMemory, DevicePrediction, Ending, Energy, FORMAT_NAME,
    FORMAT_VERSION, HighWater, Machine, Mark, MarkBook, NearLimit, OutsideFigure, PeakRequested, Resolution,
    SharedMemory, Snapshot, Step, Timeline, Totals, TrackerCost, Utilisation,
};
use crate::joined_steps::JoinedSteps;
use crate::record::Record;
use crate::resident::resident_set;
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
/// The most marks that a timeline holds; when there are more, the earliest go.
const MAX_MARKS: usize = 16 * 1024;
/// The most instants near a limit that a timeline holds; when there are more, the earliest go.
const MAX_NEAR_LIMITS: usize = 64;

/// Makes a timeline of records: see [`Assembler::apply`] and [`Assembler::timeline`].
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    started: bool,
    ending: Option<Ending>,
    duration_ns: u64,
    run: BTreeMap<String, serde_json::Value>,
    machine: Machine,
    allocator: Allocator,
    interposition: Vec<Resolution>,
    scopes: Vec<Scope>,
    layer_kinds: BTreeMap<String, String>,
    interval_ns: u64,
    samples: Samples,
    marks: VecDeque<Mark>,
    steps: VecDeque<Step>,
    peak: Snapshot,
    peak_requested: Option<PeakRequested>,
    high_waters: Vec<HighWater>,
    totals: Totals,
    at_exit: Option<Snapshot>,
    book: Option<Book>,
    mark_books: Vec<MarkBook>,
    near_limits: VecDeque<NearLimit>,
    child_processes: Option<ChildProcesses>,
    lanes: Vec<OutsideFigure>,
    tracker: Option<TrackerCost>,
    analysis: Option<Analysis>,
    unread: Option<Unread>,
    device_predictions: Vec<DevicePrediction>,
    devices: Vec<DeviceMemory>,
    shared_memory: Option<SharedMemory>,
    stacks: Option<Stacks>,
    utilisation: Option<Utilisation>,
    step_times: JoinedSteps,
    energy: Option<Energy>,
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
            Record::Scope(scope) => self.scopes.push(scope),
            Record::LayerKind { layer, kind } if kind.is_empty() => {
                self.layer_kinds.remove(&layer);
            }
            Record::LayerKind { layer, kind } => {
                self.layer_kinds.insert(layer, kind);
            }
            Record::Sample(sample) => {
                self.reach(sample.time_ns);
                self.samples.whole(sample);
            }
            Record::Changes(sample) => {
                self.reach(sample.time_ns);
                self.samples.changed(sample);
            }
            Record::Mark(mark) => self.mark(mark),
            Record::Step(step) => {
                self.reach(step.end_ns);
                self.steps.push_back(step);
                if self.steps.len() > MAX_STEPS {
                    self.steps.pop_front();
                }
            }
            Record::Peak(peak) => {
                self.reach(peak.time_ns);
                self.peak = peak;
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
                self.analysis = Some(*analysis);
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

    /// The timeline of all records so far. Without a [`Record::End`] its ending is [`Ending::Recovered`].
    /// What only the end of a recording tells is not known then; the resident set is that of the samples.
    pub fn timeline(self) -> Timeline {
        let series = self.samples.series(&self.scopes, self.interval_ns);
        let mut lanes = self.lanes;
        if self.ending.is_none() && lanes.is_empty() {
            lanes.extend(resident_set(&series, self.peak.time_ns));
        }
        Timeline {
            format: FORMAT_NAME.to_owned(),
            format_version: FORMAT_VERSION,
            ending: self.ending.unwrap_or(Ending::Recovered),
            duration_ns: self.duration_ns,
            series,
            run: self.run,
            machine: self.machine,
            allocator: self.allocator,
            interposition: self.interposition,
            derived_phases: derived_phases(&self.scopes),
            layer_kinds: self.layer_kinds,
            scopes: self.scopes,
            marks: self.marks.into(),
            steps: self.steps.into(),
            unread: self.unread.filter(|unread| unread.is_of(self.peak.time_ns, self.peak.live_bytes)),
            peak: self.peak,
            peak_requested: self.peak_requested,
            high_waters: self.high_waters,
            totals: self.totals,
            at_exit: self.at_exit.map(|snapshot| AtExit { snapshot }),
            book: self.book,
            mark_books: self.mark_books,
            near_limits: self.near_limits.into(),
            child_processes: self.child_processes,
            lanes,
            tracker: self.tracker.unwrap_or_default(),
            analysis: self.analysis,
            device_predictions: self.device_predictions,
            devices: self.devices,
            shared_memory: self.shared_memory,
            stacks: self.stacks,
            utilisation: self.utilisation,
            step_times: self.step_times.into_entries(),
            energy: self.energy,
        }
    }

    /// The fewest records that give the same timeline: a log in its shortest form.
    pub fn records(&self) -> Vec<Record> {
        let mut records = vec![Record::Start {
            format_version: FORMAT_VERSION,
            run: self.run.clone(),
            machine: self.machine.clone(),
            allocator: self.allocator.clone(),
            interval_ns: self.interval_ns,
        }];
        records.extend(self.interposition.iter().cloned().map(Record::Resolution));
        records.extend(self.scopes.iter().cloned().map(Record::Scope));
        let kinds = self.layer_kinds.iter().map(|(layer, kind)| (layer.clone(), kind.clone()));
        records.extend(kinds.map(|(layer, kind)| Record::LayerKind { layer, kind }));
        records.extend(self.samples.records());
        records.extend(self.marks.iter().cloned().map(Record::Mark));
        records.extend(self.steps.iter().cloned().map(Record::Step));
        records.push(Record::Peak(self.peak.clone()));
        records.extend(self.peak_requested.map(Record::PeakRequested));
        records.extend(self.book.iter().cloned().map(Record::Book));
        records.extend(self.mark_books.iter().cloned().map(Record::MarkBook));
        records.extend(self.near_limits.iter().cloned().map(Record::NearLimit));
        records.extend(self.child_processes.iter().cloned().map(Record::ChildProcesses));
        records.push(Record::HighWaters(self.high_waters.clone()));
        records.push(Record::Totals(self.totals.clone()));
        records.extend(self.at_exit.iter().cloned().map(Record::AtExit));
        if !self.lanes.is_empty() {
            records.push(Record::OutsideFigures(self.lanes.clone()));
        }
        records.extend(self.tracker.iter().cloned().map(Record::Tracker));
        records.extend(self.analysis.iter().cloned().map(|analysis| Record::Analysis(Box::new(analysis))));
        records.extend(self.unread.iter().cloned().map(|unread| Record::Unread(Box::new(unread))));
        if !self.device_predictions.is_empty() {
            records.push(Record::DevicePredictions(self.device_predictions.clone()));
        }
        if !self.devices.is_empty() {
            records.push(Record::Devices(self.devices.clone()));
        }
        records.extend(self.shared_memory.iter().cloned().map(Record::SharedMemory));
        records.extend(self.stacks.iter().cloned().map(|stacks| Record::Stacks(Box::new(stacks))));
        records.extend(self.utilisation.iter().cloned().map(|utilisation| Record::Utilisation(Box::new(utilisation))));
        let step_times = self.step_times.entries().iter().cloned();
        records.extend(step_times.map(|step| Record::StepTimes(Box::new(step))));
        records.extend(self.energy.iter().cloned().map(|energy| Record::Energy(Box::new(energy))));
        records.extend(self.ending.map(|ending| Record::End { time_ns: self.duration_ns, ending }));
        records
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
            }
        }
        self.marks.push_back(mark);
        if self.marks.len() > MAX_MARKS {
            self.marks.pop_front();
        }
    }
}

/// The derived phases among those of the scopes, each once.
fn derived_phases(scopes: &[Scope]) -> Vec<String> {
    let is_used = |phase: &DerivedPhase| scopes.iter().any(|scope| scope.phase == phase.name());
    DerivedPhase::ALL.into_iter().filter(is_used).map(|phase| phase.name().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Sample;

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
