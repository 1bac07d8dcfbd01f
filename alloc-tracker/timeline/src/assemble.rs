//! Folds [`Record`]s into a [`Timeline`], in bounded memory.
//!
//! When there are more than `MAX_SAMPLES` samples, neighbours are merged in pairs and the one with more live bytes
//! stays; its `high_bytes` becomes the pair's. So the file never grows past its bound and no peak is lost.
use std::collections::{BTreeMap, VecDeque};

use crate::analysis::Analysis;
use crate::file::{
    Allocator, AtExit, Ending, FORMAT_NAME, FORMAT_VERSION, HighWater, Lane, Machine, Mark, PeakRequested, Resolution,
    Snapshot, Step, Timeline, Totals, TrackerCost,
};
use crate::record::Record;
use crate::samples::Samples;
use crate::scope::Scope;
use crate::stacks::Stacks;

/// The most steps a timeline holds; later ones push out the earliest.
pub const MAX_STEPS: usize = 4096;
/// For how many marks of one name the table is kept; later ones push out the earliest.
pub const MAX_MARK_TABLES: usize = 4;
/// The most marks a timeline holds; later ones push out the earliest.
const MAX_MARKS: usize = 16 * 1024;

/// See the module's description. Feed it with [`Assembler::apply`], take the result with [`Assembler::timeline`].
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
    interval_ns: u64,
    samples: Samples,
    marks: VecDeque<Mark>,
    steps: VecDeque<Step>,
    peak: Snapshot,
    peak_requested: Option<PeakRequested>,
    high_waters: Vec<HighWater>,
    totals: Totals,
    at_exit: Snapshot,
    book: Option<crate::Book>,
    lanes: Vec<Lane>,
    tracker: TrackerCost,
    analysis: Option<Analysis>,
    stacks: Option<Stacks>,
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
            Record::HighWaters(high_waters) => self.high_waters = high_waters,
            Record::Totals(totals) => self.totals = totals,
            Record::AtExit(snapshot) => self.at_exit = snapshot,
            Record::Lanes(lanes) => self.lanes = lanes,
            Record::Tracker(tracker) => self.tracker = tracker,
            Record::Analysis(analysis) => {
                self.reach(analysis.time_ns);
                self.analysis = Some(*analysis);
            }
            Record::Stacks(stacks) => self.stacks = Some(*stacks),
            Record::End { time_ns, ending } => {
                self.reach(time_ns);
                self.ending = Some(ending);
            }
        }
    }

    /// The timeline of all that has been seen. A log without an end gives [`Ending::Recovered`].
    pub fn timeline(self) -> Timeline {
        Timeline {
            format: FORMAT_NAME.to_owned(),
            format_version: FORMAT_VERSION,
            ending: self.ending.unwrap_or(Ending::Recovered),
            duration_ns: self.duration_ns,
            series: self.samples.series(&self.scopes, self.interval_ns),
            run: self.run,
            machine: self.machine,
            allocator: self.allocator,
            interposition: self.interposition,
            scopes: self.scopes,
            marks: self.marks.into(),
            steps: self.steps.into(),
            peak: self.peak,
            peak_requested: self.peak_requested,
            high_waters: self.high_waters,
            totals: self.totals,
            at_exit: AtExit { snapshot: self.at_exit },
            book: self.book,
            lanes: self.lanes,
            tracker: self.tracker,
            analysis: self.analysis,
            stacks: self.stacks,
        }
    }

    /// Records that make an assembler like this one: a log in its shortest form.
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
        records.extend(self.samples.records());
        records.extend(self.marks.iter().cloned().map(Record::Mark));
        records.extend(self.steps.iter().cloned().map(Record::Step));
        records.push(Record::Peak(self.peak.clone()));
        records.extend(self.peak_requested.map(Record::PeakRequested));
        records.extend(self.book.iter().cloned().map(Record::Book));
        records.push(Record::HighWaters(self.high_waters.clone()));
        records.push(Record::Totals(self.totals.clone()));
        records.push(Record::AtExit(self.at_exit.clone()));
        records.push(Record::Lanes(self.lanes.clone()));
        records.push(Record::Tracker(self.tracker.clone()));
        records.extend(self.analysis.iter().cloned().map(|analysis| Record::Analysis(Box::new(analysis))));
        records.extend(self.stacks.iter().cloned().map(|stacks| Record::Stacks(Box::new(stacks))));
        records.extend(self.ending.map(|ending| Record::End { time_ns: self.duration_ns, ending }));
        records
    }

    fn reach(&mut self, time_ns: u64) {
        self.duration_ns = self.duration_ns.max(time_ns);
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
}
