//! Self time: how long each scope was the innermost one, a mean over steps of which the first are left out, or of the
//! whole recording where it had no steps.
use std::collections::BTreeMap;
use std::fmt;

use alloc_timeline::{Dimension, StepTimes, Timeline};
use serde::Serialize;

use crate::analysis::usage::no_power;
use crate::model::{Pass, ScopeNames, operation_of, pass_of};

/// How many of the first steps are left out unless somebody says otherwise: they warm up.
const USUAL_SKIP: u64 = 3;

/// What self times are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TimeBasis {
    /// How many steps were counted; 0: the whole recording, because it has no times by step.
    pub steps: u64,
    /// The first of them; 0 where there is none.
    pub first_step: u64,
    /// The last of them, likewise.
    pub last_step: u64,
}

/// The self time of one scope.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ScopeSelf {
    names: ScopeNames,
    self_ns: u64,
    calls: Option<u64>,
}

/// The self times of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelfTimes {
    /// What they are of.
    pub basis: TimeBasis,
    rows: Vec<ScopeSelf>,
}

/// The self time of one name, summed over the steps that count. The field names never change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NameTime {
    /// The name; [`NONE`](alloc_timeline::NONE) where there was none.
    pub name: String,
    /// Its self time, of all threads.
    pub self_ns: u64,
    /// The part of that in the forward pass, of training or of inference.
    pub forward_ns: u64,
    /// The part in the backward pass.
    pub backward_ns: u64,
    /// How often its scopes were entered. Left out where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calls: Option<u64>,
}

/// The self times of a run, as scripts read them. The field names never change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SelfTimeFigures {
    /// What they are of.
    pub basis: TimeBasis,
    /// All of them.
    pub self_ns: u64,
    /// By phase; these and the others sum to `self_ns`.
    pub by_phase: Vec<NameTime>,
    /// By layer.
    pub by_layer: Vec<NameTime>,
    /// By operator.
    pub by_op: Vec<NameTime>,
    /// By operation, forward and backward together.
    pub by_operation: Vec<NameTime>,
}

/// Why there are no self times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoTimes {
    /// They were not measured; how to get them.
    NotMeasured(&'static str),
    /// More steps are to be left out than there are.
    AllSkipped {
        /// How many there are.
        steps: u64,
        /// How many are to be left out.
        skip: u64,
    },
}

impl fmt::Display for NoTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoTimes::NotMeasured(why) => f.write_str(why),
            NoTimes::AllSkipped { steps, skip } => {
                write!(
                    f,
                    "nothing is left: the run has {steps} steps, and the first {skip} are to be left out; give a smaller --skip"
                )
            }
        }
    }
}

/// The entries of the steps that count when the first `skip` are left out. Without `skip`, three are, if there are more.
///
/// # Errors
/// When there are no times by step, or no step is left.
pub fn counted_steps(timeline: &Timeline, skip: Option<u64>) -> Result<&[StepTimes], NoTimes> {
    let all = &timeline.step_times;
    let Some(latest) = all.last() else {
        let why = no_power(timeline)
            .unwrap_or("unavailable: the run had no steps (see viewer power for the times of the whole run)");
        return Err(NoTimes::NotMeasured(why));
    };
    let usual = if latest.last_step > USUAL_SKIP { USUAL_SKIP } else { 0 };
    let skip = skip.unwrap_or(usual);
    let first = all.partition_point(|step| step.first_step <= skip);
    // The run may have begun steps without times before the first entry.
    let left = &all[first..];
    if left.is_empty() { Err(NoTimes::AllSkipped { steps: latest.last_step, skip }) } else { Ok(left) }
}

/// The self times of a run; see `counted_steps` for `skip`.
///
/// # Errors
/// When nobody asked for times, or no step is left.
pub fn self_times(timeline: &Timeline, skip: Option<u64>) -> Result<SelfTimes, NoTimes> {
    let mut sums: BTreeMap<u32, (u64, Option<u64>)> = BTreeMap::new();
    let basis = match counted_steps(timeline, skip) {
        Ok(steps) => {
            for (scope, self_ns, calls) in
                steps.iter().flat_map(|step| step.stepping_thread.rows().chain(step.other_threads.rows()))
            {
                let sum = sums.entry(scope).or_insert((0, Some(0)));
                *sum = (sum.0.saturating_add(self_ns), sum.1.map(|sum| sum.saturating_add(calls)));
            }
            TimeBasis {
                steps: steps.iter().map(StepTimes::steps).sum(),
                first_step: steps.first().map_or(0, |step| step.first_step),
                last_step: steps.last().map_or(0, |step| step.last_step),
            }
        }
        Err(why @ NoTimes::AllSkipped { .. }) => return Err(why),
        Err(why) => {
            let scopes = timeline.utilisation.iter().flat_map(|utilisation| &utilisation.scopes);
            sums.extend(scopes.map(|row| (row.scope, (row.active_ns, None))));
            if sums.is_empty() {
                return Err(why);
            }
            TimeBasis { steps: 0, first_step: 0, last_step: 0 }
        }
    };
    let rows = sums.into_iter().map(|(scope, (self_ns, calls))| ScopeSelf {
        names: ScopeNames::new(&timeline.scopes, scope),
        self_ns,
        calls,
    });
    Ok(SelfTimes { basis, rows: rows.collect() })
}

/// All self times of a run; `None` where nobody asked for times.
pub fn self_time_figures(timeline: &Timeline) -> Option<SelfTimeFigures> {
    self_times(timeline, None).ok().map(|times| times.figures())
}

impl TimeBasis {
    /// A sum over the steps as a mean of one step; of the whole recording, the sum itself.
    pub fn a_step(&self, sum: u64) -> f64 {
        sum as f64 / self.steps.max(1) as f64
    }
}

impl SelfTimes {
    /// All self time.
    pub fn whole_ns(&self) -> u64 {
        self.sum(|_| true).self_ns
    }

    /// The self time of the scopes that `is_meant`, under no name.
    pub fn sum(&self, is_meant: impl Fn(&ScopeNames) -> bool) -> NameTime {
        let mut sum = NameTime::default();
        self.rows.iter().filter(|row| is_meant(&row.names)).for_each(|row| sum.add(row));
        sum
    }

    /// All of them, for scripts.
    pub fn figures(&self) -> SelfTimeFigures {
        SelfTimeFigures {
            basis: self.basis,
            self_ns: self.whole_ns(),
            by_phase: self.by(Dimension::Phase),
            by_layer: self.by(Dimension::Layer),
            by_op: self.by(Dimension::Op),
            by_operation: self.by_operation(),
        }
    }

    /// The self time of one name; `None` for a category, which has none.
    pub fn of(&self, dimension: Dimension, name: &str) -> Option<u64> {
        let of = name_in(dimension)?;
        Some(self.sum(|names| of(names) == name).self_ns)
    }

    /// The self time of each name, the longest first; nothing for categories.
    pub fn by(&self, dimension: Dimension) -> Vec<NameTime> {
        name_in(dimension).map_or_else(Vec::new, |name| self.grouped(|names| name(names).to_owned()))
    }

    /// The self time of each operation, forward and backward under one name, the longest first.
    pub fn by_operation(&self) -> Vec<NameTime> {
        self.grouped(|names| operation_of(&names.op))
    }

    fn grouped(&self, name: impl Fn(&ScopeNames) -> String) -> Vec<NameTime> {
        let mut by_name: BTreeMap<String, NameTime> = BTreeMap::new();
        for row in &self.rows {
            let name = name(&row.names);
            let time = by_name.entry(name.clone()).or_insert_with(|| NameTime { name, ..NameTime::default() });
            time.add(row);
        }
        let mut times: Vec<NameTime> = by_name.into_values().collect();
        times.sort_by(|a, b| b.self_ns.cmp(&a.self_ns).then_with(|| a.name.cmp(&b.name)));
        times
    }
}

impl NameTime {
    fn add(&mut self, row: &ScopeSelf) {
        self.self_ns = self.self_ns.saturating_add(row.self_ns);
        match pass_of(&row.names.phase) {
            Some(Pass::Forward) => self.forward_ns = self.forward_ns.saturating_add(row.self_ns),
            Some(Pass::Backward) => self.backward_ns = self.backward_ns.saturating_add(row.self_ns),
            None => {}
        }
        self.calls = row.calls.map(|calls| calls.saturating_add(self.calls.unwrap_or(0))).or(self.calls);
    }

    /// Neither forward nor backward.
    pub fn other_ns(&self) -> u64 {
        self.self_ns.saturating_sub(self.forward_ns).saturating_sub(self.backward_ns)
    }
}

fn name_in(dimension: Dimension) -> Option<fn(&ScopeNames) -> &str> {
    match dimension {
        Dimension::Phase => Some(|names| &names.phase),
        Dimension::Layer => Some(|names| &names.layer),
        Dimension::Op => Some(|names| &names.op),
        Dimension::Category => None,
    }
}

#[cfg(test)]
mod tests {
    use alloc_timeline::{ScopeTime, Utilisation};

    use super::*;
    use crate::model::fixture::{tiny, with_step_times};

    /// Five steps, of which the first three are left out: conv1 has 600 us forward and 300 us backward in each.
    #[test]
    fn the_first_steps_are_left_out() {
        let timeline = with_step_times(tiny(), 5);
        let times = self_times(&timeline, None).expect("times");
        assert_eq!(times.basis, TimeBasis { steps: 2, first_step: 4, last_step: 5 });
        let layers = times.by(Dimension::Layer);
        let conv1 = &layers[0];
        assert_eq!((conv1.name.as_str(), conv1.self_ns, conv1.calls), ("conv1", 1_800_000, Some(4)));
        assert_eq!((conv1.forward_ns, conv1.backward_ns, conv1.other_ns()), (1_200_000, 600_000, 0));
        assert_eq!(times.of(Dimension::Layer, "conv1"), Some(1_800_000));
        assert_eq!(times.of(Dimension::Category, "activation"), None);
        assert_eq!(times.by_operation()[0].name, "convolution");
        assert_eq!(times.by_operation()[0].self_ns, 1_800_000);
        // Each way of splitting sums to the steps' own length.
        let wall: u64 = timeline.step_times[3..].iter().map(|step| step.wall_ns).sum();
        for times in [times.by(Dimension::Phase), layers, times.by(Dimension::Op), times.by_operation()] {
            assert_eq!(times.iter().map(|time| time.self_ns).sum::<u64>(), wall);
        }
        assert_eq!(self_times(&timeline, Some(0)).expect("times").basis.steps, 5);
        assert_eq!(self_times(&timeline, Some(5)), Err(NoTimes::AllSkipped { steps: 5, skip: 5 }));
    }

    /// In a step with several passes, the phase of each begins with the pass's name.
    #[test]
    fn several_passes_are_forward_and_backward_too() {
        let mut timeline = with_step_times(tiny(), 5);
        for scope in timeline.scopes.iter_mut().filter(|scope| !scope.phase.is_empty()) {
            scope.phase = format!("generator/{}", scope.phase);
        }
        let times = self_times(&timeline, None).expect("times");
        let conv1 = &times.by(Dimension::Layer)[0];
        assert_eq!((conv1.forward_ns, conv1.backward_ns, conv1.other_ns()), (1_200_000, 600_000, 0));
    }

    #[test]
    fn few_steps_all_count() {
        assert_eq!(self_times(&with_step_times(tiny(), 3), None).expect("times").basis.steps, 3);
    }

    #[test]
    fn without_steps_it_is_the_whole_recording_and_without_times_it_says_what_to_set() {
        let mut timeline = tiny();
        let scopes = vec![ScopeTime { scope: 2, active_ns: 7, ..ScopeTime::default() }];
        timeline.utilisation = Some(Utilisation { scopes, ..Utilisation::default() });
        let times = self_times(&timeline, None).expect("times");
        assert_eq!((times.basis.steps, times.whole_ns()), (0, 7));
        timeline.utilisation = Some(Utilisation::default());
        let why = self_times(&timeline, None).expect_err("no times").to_string();
        assert!(why.contains("ALLOC_TRACKER_TIMES=on"), "{why}");
    }
}
