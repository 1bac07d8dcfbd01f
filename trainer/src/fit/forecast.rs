//! What a step needs at any batch: its plan, and what runs of small batches had besides.
//!
//! ```text
//! needed = most of all places (plan of the place + workspace of the place) + process + page tables
//! ```
//!
//! - A *place* is a layer in a phase. The plan knows to the byte which tensors are live there.
//! - *Workspace* is memory of the operator that runs there: oneDNN's copies of maps in a layout of its own, and of weights. It is
//!   measured: the tensors and the workspace that a run had when the place was at its own peak, less the plan. Over the batch it
//!   is a line, because copies of maps grow with the batch and copies of weights do not.
//! - The *process* is all that a run needed besides: libtorch's heap from before `main`, operators' small blocks, pages that
//!   libraries wrote, the tracker, stacks.
//! - *Page tables* take 8 bytes for each page of 4,096.
//!
//! From some batch on an operator may take another way, with some MiB more at once. Of the three largest measured batches the
//! smaller of the two rises counts, so that such a jump between two of them does not become a slope. A jump far above them shows only in a run
//! there ([`Forecast::corrected`]).
use std::collections::BTreeMap;

use alloc_timeline::{Category, Timeline};
use serde::Serialize;

use crate::model::peak::Step;

/// The bytes of pages that one byte of page tables stands for: 8 bytes for 4,096.
const BYTES_A_TABLE_BYTE: u64 = 512;
/// So many measured batches, the largest ones, tell how workspace grows.
const TELLING: usize = 3;
/// What belongs to the process and to no tensor.
const BESIDES: [Category; 3] = [Category::Runtime, Category::Metadata, Category::Other];

/// Phase and layer.
type Place = (String, String);

/// What one run of a small batch had, beside its plan.
pub(super) struct Sample {
    batch: u64,
    step: Step,
    /// Most bytes at once that the kernel could not reclaim.
    needed_bytes: u64,
    /// Tensors and workspace of the whole process when the place was at its own peak.
    places: BTreeMap<Place, u64>,
}

/// A straight line over the batch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Line {
    fixed: f64,
    each: f64,
}

/// The measured terms of one network.
#[derive(Clone, Debug, Default)]
pub(super) struct Forecast {
    workspace: BTreeMap<Place, Line>,
    process_bytes: u64,
    /// The tensors and the workspace beside which the process was measured: its page tables are part of it.
    measured_bytes: u64,
}

/// What a batch needs, by where that is from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Needed {
    /// Live tensors, by the plan.
    pub(super) plan_bytes: u64,
    pub(super) workspace_bytes: u64,
    pub(super) process_bytes: u64,
    /// Beyond those of the measured runs.
    pub(super) page_table_bytes: u64,
    /// Where the most is live.
    pub(super) phase: String,
    pub(super) layer: String,
}

/// The bytes of the page tables that `bytes` of memory have.
pub(super) fn page_tables(bytes: u64) -> u64 {
    bytes / BYTES_A_TABLE_BYTE
}

impl Needed {
    /// All of it.
    pub(super) fn bytes(&self) -> u64 {
        self.plan_bytes + self.workspace_bytes + self.process_bytes + self.page_table_bytes
    }
}

impl Sample {
    /// Reads the places of a run of `batch`, whose plan is `step`, from its timeline.
    pub(super) fn new(batch: u64, step: Step, needed_bytes: u64, timeline: &Timeline) -> Sample {
        let besides = BESIDES.map(Category::name);
        let tensors = |by_category: &BTreeMap<String, u64>| {
            by_category.iter().filter(|(name, _)| !besides.contains(&name.as_str())).map(|(_, bytes)| bytes).sum()
        };
        let figures = timeline.analysis.iter().flat_map(|analysis| &analysis.figures);
        let place = figures.filter_map(|figures| {
            let place = (figures.phase.clone()?, figures.layer.clone()?);
            Some((place, tensors(&figures.process_by_category)))
        });
        Sample { batch, step, needed_bytes, places: place.collect() }
    }

    /// The batch, and what the run had at a place beyond the plan.
    fn beyond_the_plan(&self, place: &Place) -> Option<(u64, u64)> {
        let by_place = self.step.by_place();
        let planned = by_place.get(&(place.0.as_str(), place.1.as_str())).copied().unwrap_or(0);
        Some((self.batch, self.places.get(place)?.saturating_sub(planned)))
    }
}

impl Line {
    /// Through `points`, batch and bytes, as the last of them and the smallest of their last rises say. One point alone rises as
    /// if all of it grew with the batch.
    fn through(points: &[(u64, u64)]) -> Line {
        let points = &points[points.len().saturating_sub(TELLING)..];
        let Some(&(batch, bytes)) = points.last() else { return Line::default() };
        let rise = |pair: &[(u64, u64)]| (pair[1].1 as f64 - pair[0].1 as f64) / (pair[1].0 - pair[0].0) as f64;
        let all_of_it = bytes as f64 / batch as f64;
        let each = points.windows(2).map(rise).fold(all_of_it, f64::min).max(0.0);
        Line { fixed: bytes as f64 - each * batch as f64, each }
    }

    fn at(self, batch: u64) -> u64 {
        (self.fixed + self.each * batch as f64).max(0.0) as u64
    }
}

impl Forecast {
    /// A process of `process_bytes`, and no workspace: all that can be said without runs of the network.
    pub(super) fn of_shapes(process_bytes: u64) -> Forecast {
        Forecast { process_bytes, ..Forecast::default() }
    }

    /// One operator with so much workspace, and nothing else.
    #[cfg(test)]
    pub(super) fn of_workspace(fixed_bytes: u64, bytes_an_input: u64) -> Forecast {
        let line = Line { fixed: fixed_bytes as f64, each: bytes_an_input as f64 };
        Forecast { workspace: [(("forward".to_owned(), "operator".to_owned()), line)].into(), ..Forecast::default() }
    }

    /// The terms that `samples` showed. They stand in the order of their batches.
    pub(super) fn measured(samples: &[Sample]) -> Forecast {
        let Some(last) = samples.last() else { return Forecast::default() };
        let line = |place: &Place| {
            let points: Vec<(u64, u64)> = samples.iter().filter_map(|sample| sample.beyond_the_plan(place)).collect();
            Line::through(&points)
        };
        let workspace = last.places.keys().map(|place| (place.clone(), line(place))).collect();
        let mut forecast = Forecast { workspace, ..Forecast::default() };
        for sample in samples {
            let (bytes, ..) = forecast.most(sample.batch, &sample.step);
            let process = sample.needed_bytes.saturating_sub(bytes);
            if process >= forecast.process_bytes {
                (forecast.process_bytes, forecast.measured_bytes) = (process, bytes);
            }
        }
        forecast
    }

    /// These terms, and what a run of a far larger batch showed: where a place had more than its line says, the operator has taken
    /// another way in between, and all of its workspace counts as growing with the batch.
    pub(super) fn corrected(&self, far: &Sample) -> Forecast {
        let mut forecast = self.clone();
        for (place, line) in &mut forecast.workspace {
            if let Some((batch, bytes)) = far.beyond_the_plan(place).filter(|&(batch, bytes)| bytes > line.at(batch)) {
                *line = Line::through(&[(batch, bytes)]);
            }
        }
        forecast
    }

    /// What the process needs besides.
    pub(super) fn process_bytes(&self) -> u64 {
        self.process_bytes
    }

    /// What `batch` needs, whose plan is `step`.
    pub(super) fn needed(&self, batch: u64, step: &Step) -> Needed {
        let (bytes, workspace_bytes, (phase, layer)) = self.most(batch, step);
        let beyond = if self.measured_bytes > 0 { bytes.saturating_sub(self.measured_bytes) } else { 0 };
        Needed {
            plan_bytes: bytes - workspace_bytes,
            workspace_bytes,
            process_bytes: self.process_bytes,
            page_table_bytes: page_tables(beyond),
            phase,
            layer,
        }
    }

    /// Tensors and workspace of `batch` at its peak, whose plan is `step`.
    pub(super) fn live(&self, batch: u64, step: &Step) -> u64 {
        self.most(batch, step).0
    }

    /// The most tensors and workspace at any place, the workspace in it, and the place.
    fn most(&self, batch: u64, step: &Step) -> (u64, u64, Place) {
        let mut places: BTreeMap<Place, (u64, u64)> =
            self.workspace.iter().map(|(place, line)| (place.clone(), (line.at(batch), line.at(batch)))).collect();
        for ((phase, layer), planned) in step.by_place() {
            places.entry((phase.to_owned(), layer.to_owned())).or_default().0 += planned;
        }
        let most = places.into_iter().max_by_key(|&(_, (bytes, _))| bytes);
        most.map_or_else(Default::default, |(place, (bytes, workspace))| (bytes, workspace, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::case::Case;
    use crate::model::ModelName;
    use crate::optimizer::Optimizer;

    const MIB: u64 = 1 << 20;

    /// 2 at any batch, and 1/2 an input: 4, 6 and 10 at batch 4, 8 and 16.
    #[test]
    fn a_line_goes_on_as_it_rose() {
        let line = Line::through(&[(4, 4 * MIB), (8, 6 * MIB), (16, 10 * MIB)]);
        assert_eq!((line.at(16), line.at(100)), (10 * MIB, 52 * MIB));
    }

    /// 3 more from batch 16 on are no slope: the other rise is 0. Of two points nobody can tell a jump from a slope.
    #[test]
    fn a_jump_is_no_slope() {
        assert_eq!(Line::through(&[(4, MIB), (8, MIB), (16, 4 * MIB)]).at(1000), 4 * MIB);
        assert_eq!(Line::through(&[(4, MIB), (8, 4 * MIB), (16, 4 * MIB)]).at(1000), 4 * MIB);
        assert_eq!(
            Line::through(&[(1, MIB), (2, MIB), (4, MIB), (8, 2 * MIB), (16, 4 * MIB)]).at(32),
            8 * MIB,
            "three tell"
        );
        assert_eq!(Line::through(&[(8, MIB)]).at(16), 2 * MIB, "of one point all may grow");
        assert_eq!(Line::through(&[(8, 4), (16, 2)]).at(1000), 2, "what falls stays");
        assert_eq!(Line::through(&[]).at(1000), 0);
    }

    /// A run that had 1 MiB an input in conv2 of the backward pass besides the plan, and 70 MiB of its own.
    fn sample(case: &Case, batch: u64) -> Sample {
        let step = case.step(batch).expect("fits");
        let place = ("backward".to_owned(), "conv2".to_owned());
        let bytes = step.by_place()[&("backward", "conv2")] + batch * MIB;
        let needed_bytes = bytes + 70 * MIB;
        Sample { batch, step, needed_bytes, places: [(place, bytes)].into() }
    }

    #[test]
    fn the_terms_of_a_network() {
        let case = Case { model: ModelName::LeNet5, size: 32, classes: 10, optimizer: Optimizer::default() };
        let samples = [4, 8, 16].map(|batch| sample(&case, batch));
        let forecast = Forecast::measured(&samples);
        assert_eq!(forecast.process_bytes(), 70 * MIB);
        let step = case.step(1000).expect("fits");
        let needed = forecast.needed(1000, &step);
        let planned = step.by_place()[&("backward", "conv2")];
        assert_eq!((needed.plan_bytes, needed.workspace_bytes), (planned, 1000 * MIB), "{needed:?}");
        assert_eq!((needed.phase.as_str(), needed.layer.as_str()), ("backward", "conv2"));
        let measured = samples[2].needed_bytes - 70 * MIB;
        assert_eq!(needed.page_table_bytes, (planned + 1000 * MIB - measured) / 512);
        assert_eq!(needed.bytes(), planned + 1070 * MIB + needed.page_table_bytes);
    }

    /// From somewhere between 16 and 1,000 inputs on, conv2 has 1.5 MiB an input in place of 1.
    #[test]
    fn a_far_run_shows_a_jump_in_between() {
        let case = Case { model: ModelName::LeNet5, size: 32, classes: 10, optimizer: Optimizer::default() };
        let forecast = Forecast::measured(&[4, 8, 16].map(|batch| sample(&case, batch)));
        let mut far = sample(&case, 1000);
        assert_eq!(forecast.corrected(&far).needed(2000, &case.step(2000).expect("fits")).workspace_bytes, 2000 * MIB);
        far.places.values_mut().for_each(|bytes| *bytes += 500 * MIB);
        assert_eq!(forecast.corrected(&far).needed(2000, &case.step(2000).expect("fits")).workspace_bytes, 3000 * MIB);
        assert_eq!(forecast.needed(2000, &case.step(2000).expect("fits")).workspace_bytes, 2000 * MIB);
    }

    #[test]
    fn without_runs_there_are_the_plan_and_the_process() {
        let case = Case { model: ModelName::LeNet5, size: 32, classes: 10, optimizer: Optimizer::default() };
        let step = case.step(64).expect("fits");
        assert_eq!(Forecast::of_shapes(MIB).needed(64, &step).bytes(), step.peak().bytes + MIB);
    }
}
