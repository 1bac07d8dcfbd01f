//! Folds [`Record`]s into a [`Timeline`], in bounded memory.
//!
//! When there are more than [`MAX_SAMPLES`] samples, neighbours are merged in pairs and the one with more live bytes
//! stays; its `high_bytes` becomes the pair's. So the file never grows past its bound and no peak is lost.
use std::collections::{BTreeMap, VecDeque};

use crate::analysis::Analysis;
use crate::file::{
    Allocator, AtExit, Ending, FORMAT_NAME, FORMAT_VERSION, HighWater, Lane, Machine, Mark, PeakRequested, Resolution,
    Series, Snapshot, Step, Timeline, Totals, TrackerCost,
};
use crate::record::{Record, Sample};
use crate::scope::{Dimension, Scope};

/// The most samples a timeline holds.
pub const MAX_SAMPLES: usize = 2048;
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
    samples: Vec<Sample>,
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
            Record::Sample(sample) => self.sample(sample),
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
            series: columns(&self.samples, &self.scopes, self.interval_ns),
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
        records.extend(self.samples.iter().cloned().map(Record::Sample));
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
        records.extend(self.ending.map(|ending| Record::End { time_ns: self.duration_ns, ending }));
        records
    }

    fn reach(&mut self, time_ns: u64) {
        self.duration_ns = self.duration_ns.max(time_ns);
    }

    fn sample(&mut self, sample: Sample) {
        self.reach(sample.time_ns);
        self.samples.push(sample);
        if self.samples.len() > MAX_SAMPLES {
            self.samples = merge_pairs(std::mem::take(&mut self.samples));
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
            }
        }
        self.marks.push_back(mark);
        if self.marks.len() > MAX_MARKS {
            self.marks.pop_front();
        }
    }
}

/// Halves the number of samples; of each pair the one with more live bytes stays.
fn merge_pairs(samples: Vec<Sample>) -> Vec<Sample> {
    let mut merged = Vec::with_capacity(samples.len() / 2 + 1);
    let mut rest = samples.into_iter();
    while let Some(first) = rest.next() {
        merged.push(match rest.next() {
            None => first,
            Some(second) => {
                let high = first.high_bytes.max(second.high_bytes);
                let mut kept = if second.live_bytes >= first.live_bytes { second } else { first };
                kept.high_bytes = high;
                kept
            }
        });
    }
    merged
}

/// Turns samples (rows) into a series (columns).
fn columns(samples: &[Sample], scopes: &[Scope], interval_ns: u64) -> Series {
    let nobody = Scope::default();
    let count = samples.len();
    let mut series = Series { interval_ns, ..Series::default() };
    for (index, sample) in samples.iter().enumerate() {
        series.time_ns.push(sample.time_ns);
        series.live_bytes.push(sample.live_bytes);
        series.requested_bytes.push(sample.requested_bytes);
        series.high_bytes.push(sample.high_bytes);
        for (scope, category, bytes) in &sample.rows {
            let scope = scopes.get(*scope as usize).unwrap_or(&nobody);
            for dimension in Dimension::ALL {
                let name = dimension.of(scope, *category);
                let table = series.by_mut(dimension);
                if !table.contains_key(name) {
                    table.insert(name.to_owned(), vec![0; count]);
                }
                if let Some(column) = table.get_mut(name) {
                    // A damaged log can hold any numbers.
                    column[index] = column[index].saturating_add(*bytes);
                }
            }
        }
        for (name, value) in &sample.probes {
            if !series.probes.contains_key(name) {
                series.probes.insert(name.clone(), vec![None; count]);
            }
            if let Some(column) = series.probes.get_mut(name) {
                column[index] = *value;
            }
        }
    }
    series
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Category;

    fn sample(time_ns: u64, live_bytes: u64) -> Record {
        Record::Sample(Sample {
            time_ns,
            live_bytes,
            requested_bytes: live_bytes,
            high_bytes: live_bytes + 1,
            rows: vec![(0, Category::Other, live_bytes)],
            probes: vec![("rss".to_owned(), Some(live_bytes * 2))],
        })
    }

    #[test]
    fn merging_bounds_the_samples_and_keeps_the_peak() {
        let mut assembler = Assembler::new();
        assembler.apply(Record::Scope(Scope::default()));
        let spike = 7_777_777;
        for time in 0..100_000 {
            assembler.apply(sample(time, if time == 54_321 { spike } else { time % 100 }));
        }
        let series = assembler.timeline().series;
        assert!(series.time_ns.len() <= MAX_SAMPLES);
        assert_eq!(series.live_bytes.iter().max(), Some(&spike));
        assert_eq!(series.high_bytes.iter().max(), Some(&(spike + 1)));
        assert!(series.time_ns.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(series.by_category["other"] == series.live_bytes);
    }

    /// As a damaged log may have them: the sum stays at the most that can be said.
    #[test]
    fn rows_past_the_end_of_the_numbers_do_not_overflow() {
        let mut assembler = Assembler::new();
        let rows = vec![(0, Category::Other, u64::MAX), (0, Category::Other, 2)];
        assembler.apply(Record::Sample(Sample { rows, ..Sample::default() }));
        assert_eq!(assembler.timeline().series.by_category["other"], [u64::MAX]);
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
        assembler.apply(sample(5, 1));
        let timeline = assembler.timeline();
        assert_eq!(timeline.ending, Ending::Recovered);
        assert_eq!(timeline.duration_ns, 5);
    }
}
