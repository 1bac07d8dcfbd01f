//! One run under one limit, as numbers.
use std::collections::BTreeMap;

use alloc_timeline::{Dimension, Ending, NONE, Timeline};
use serde::Serialize;

use super::culprit::{Culprit, culprit};
use crate::figures::typical_step;
use crate::limit::{Counters, Limit, Ran};

/// One run under one limit.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    /// `None` without a limit.
    pub(super) limit_bytes: Option<u64>,
    /// `cgroup-v2`, `cgroup-v1` or `address-space`.
    pub(super) by: &'static str,
    /// What a shell would make of the command's end.
    pub(super) exit_code: u8,
    /// Whether the limit ended the command.
    pub(super) broke: Option<bool>,
    pub(super) wall_ns: u64,
    /// Most bytes at once that could not be reclaimed.
    pub(super) unreclaimable_peak_bytes: Option<u64>,
    pub(super) counters: Counters,
    /// What the command's timeline says, if it left one.
    pub(super) run: Option<RunRow>,
}

/// What a timeline says.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RunRow {
    pub(super) timeline: String,
    /// Whether it was recovered from a log.
    pub(super) recovered: bool,
    pub(super) steps: usize,
    /// The median of the steps without the first, which warms up.
    pub(super) step_ns: Option<u64>,
    pub(super) peak_live_bytes: u64,
    /// Who broke the limit, if it broke, or may have.
    pub(super) culprit: Option<Culprit>,
    pub(super) layers: BTreeMap<String, Layer>,
}

/// One layer. The times are sums over all steps, and there when the command's session measured times by scope, as the
/// trainer's does unless it is told not to, and any program's with ALLOC_TRACKER_TIMES=on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Layer {
    /// The most that it owned at once.
    pub(super) peak_bytes: u64,
    /// Making its weights.
    pub(super) init_ns: Option<u64>,
    /// Its part of all forward passes, in training and in inference.
    pub(super) forward_ns: Option<u64>,
    /// Its part of all backward passes: the nodes that its operators left, and the gradients of its parameters.
    pub(super) backward_ns: Option<u64>,
}

impl Row {
    /// Puts together what the limit counted and what the command wrote.
    pub(super) fn new(limit: Limit, by: &'static str, ran: &Ran, found: Option<(String, &Timeline)>) -> Row {
        let broke = ran.broke_the_limit(limit);
        Row {
            limit_bytes: limit.0,
            by,
            exit_code: ran.exit_code(),
            broke,
            wall_ns: ran.wall.as_nanos() as u64,
            unreclaimable_peak_bytes: ran.unreclaimable_peak_bytes,
            counters: ran.counters.clone(),
            run: found.map(|(path, timeline)| RunRow::new(path, timeline, broke)),
        }
    }

    /// `512.0 MiB` or `none`.
    pub(super) fn limit_text(&self) -> String {
        self.limit_bytes.map_or("none".to_owned(), crate::figures::mib)
    }

    /// How it ended, in a word or two.
    pub(super) fn ended(&self) -> String {
        match (self.broke, self.exit_code) {
            (Some(true), code) => format!("broke the limit (exit code {code})"),
            (None, code) => format!("failed (exit code {code}), for the limit or not"),
            (Some(false), 0) => "finished".to_owned(),
            (Some(false), code) => format!("exit code {code}"),
        }
    }
}

impl RunRow {
    fn new(path: String, timeline: &Timeline, broke: Option<bool>) -> RunRow {
        let steps: Vec<u64> = timeline.steps.iter().map(|step| step.end_ns.saturating_sub(step.start_ns)).collect();
        RunRow {
            timeline: path,
            recovered: timeline.ending == Ending::Recovered,
            steps: steps.len(),
            step_ns: (!steps.is_empty()).then(|| typical_step(&steps)),
            peak_live_bytes: timeline.peak.live_bytes,
            culprit: if broke == Some(false) { None } else { culprit(timeline) },
            layers: layers(timeline),
        }
    }
}

/// Peaks by layer and, where they were measured, the times by layer and phase.
fn layers(timeline: &Timeline) -> BTreeMap<String, Layer> {
    let mut layers: BTreeMap<String, Layer> = BTreeMap::new();
    for high in &timeline.high_waters {
        if high.dimension == Dimension::Layer && high.name != NONE {
            layers.entry(high.name.clone()).or_default().peak_bytes = high.live_bytes;
        }
    }
    for row in timeline.utilisation.iter().flat_map(|utilisation| &utilisation.scopes) {
        let Some(scope) = timeline.scopes.get(row.scope as usize).filter(|scope| !scope.layer.is_empty()) else {
            continue;
        };
        let layer = layers.entry(scope.layer.clone()).or_default();
        let time = match scope.phase.as_str() {
            "init" => &mut layer.init_ns,
            "forward" | "infer" => &mut layer.forward_ns,
            "backward" => &mut layer.backward_ns,
            _ => continue,
        };
        *time.get_or_insert_default() += row.active_ns;
    }
    layers
}

/// The layers whose number is above 0 in a row, the largest first.
pub(super) fn largest(rows: &[Row], number: impl Fn(&Layer) -> Option<u64>) -> Vec<String> {
    let mut numbers: BTreeMap<&String, u64> = BTreeMap::new();
    for (name, layer) in rows.iter().filter_map(|row| row.run.as_ref()).flat_map(|run| &run.layers) {
        let most = numbers.entry(name).or_default();
        *most = number(layer).unwrap_or(0).max(*most);
    }
    let mut names: Vec<(&String, u64)> = numbers.into_iter().filter(|&(_, number)| number > 0).collect();
    names.sort_by_key(|&(_, number)| std::cmp::Reverse(number));
    names.into_iter().map(|(name, _)| name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc_timeline::{Assembler, HighWater, Scope, ScopeTime, Utilisation};

    /// `conv1` is in five scopes: two of its forward pass are summed, and the optimizer's time is not shown. A timeline
    /// without times has peaks alone.
    #[test]
    fn layers_of_a_timeline() {
        let mut timeline = Assembler::new().timeline();
        timeline.high_waters = vec![HighWater {
            dimension: Dimension::Layer,
            name: "conv1".to_owned(),
            live_bytes: 9,
            time_ns: 0,
            process_live_bytes: 9,
            requested_bytes: None,
        }];
        let untimed = Layer { peak_bytes: 9, ..Layer::default() };
        assert_eq!(layers(&timeline)["conv1"], untimed);
        let rows = [
            ("init", "conv1", "aten::normal_", 5),
            ("forward", "conv1", "aten::conv2d", 10),
            ("forward", "conv1", "", 1),
            ("backward", "conv1", "ConvolutionBackward0", 20),
            ("optimizer", "conv1", "", 40),
            ("backward", "", "", 80),
        ];
        let mut utilisation = Utilisation::default();
        for (scope, (phase, layer, op, active_ns)) in (0..).zip(rows) {
            timeline.scopes.push(Scope { phase: phase.to_owned(), layer: layer.to_owned(), op: op.to_owned() });
            let (process_cpu_ns, sampled_ns) = (0, 0);
            utilisation.scopes.push(ScopeTime { scope, active_ns, cpu_ns: None, process_cpu_ns, sampled_ns });
        }
        timeline.scopes.drain(..timeline.scopes.len() - rows.len());
        timeline.utilisation = Some(utilisation);
        let timed = Layer { init_ns: Some(5), forward_ns: Some(11), backward_ns: Some(20), ..untimed };
        assert_eq!(layers(&timeline), [("conv1".to_owned(), timed)].into());
    }
}
