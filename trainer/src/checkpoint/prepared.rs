//! A plan that is ready to be run, and what is said of it before and after.
use alloc_timeline::Timeline;
use anyhow::{Result, bail};
use serde::Serialize;
use trainer_checkpoint::{
    Chain, NoPlan, Operation, Plan, Planned, Schedule, best_sequential, plan, revolve, sequential, whole,
};

use super::asked::Asked;
use super::cut::{Part, parts};
use super::measure::{Case, measure};
use crate::figures::{median, milliseconds};
use crate::model::shape;

/// By how much a measured peak may differ from a planned one: the tracker's counts may be off by 64 KiB while the parts are
/// measured, and by as much in the run.
const MARGIN: u64 = 128 << 10;
/// A step that only fills caches and makes the optimizer's state does not count.
const WARM: usize = 1;

/// What a run by a plan needs.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The network's parts.
    pub parts: Vec<Part>,
    /// The operations of a step.
    pub schedule: Schedule,
    asked: Asked,
    /// What was measured and planned; none without the tracker.
    costs: Option<Costs>,
}

#[derive(Clone, Debug)]
struct Costs {
    chain: Chain,
    planned: Planned,
}

/// A run beside its plan.
#[derive(Clone, Debug, Serialize)]
pub struct Kept {
    /// What was asked for.
    pub plan: String,
    /// The parts of the network, without the loss.
    pub parts: usize,
    /// The schedule, a letter and a number for each operation.
    pub schedule: String,
    /// The peak of a step as planned, in requested bytes of the process.
    pub planned_peak_bytes: u64,
    /// The highest peak of the steps from the second on.
    pub measured_peak_bytes: u64,
    /// The peak that a step without checkpoints would have.
    pub whole_peak_bytes: u64,
    /// The part of the budget that was left; negative when the run took more. Without a budget none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_bytes: Option<i64>,
    /// Forward passes of a part that a step makes besides the first ones.
    pub recomputed: u64,
    /// Their time as planned, in one step.
    pub planned_recompute_ns: u64,
    /// Their median time in the steps from the second on.
    pub measured_recompute_ns: u64,
    /// The time of a step's forward and backward passes without checkpoints.
    pub whole_ns: u64,
}

/// Makes a plan ready. With the tracker, what each part costs is measured first, for which the network is made and run.
///
/// # Errors
/// When there is no such plan, or libtorch fails. Without the tracker there is none that needs costs.
pub fn prepare(asked: &Asked, case: &Case, tracked: bool) -> Result<Prepared> {
    let parts = parts(&case.model.stages(case.classes), case.in_place);
    if tracked {
        let chain = measure(case, &parts)?;
        let planned = match plan(&chain, with_margin(asked.plan)) {
            Ok(planned) => planned,
            Err(NoPlan::Budget { least, .. }) => bail!("{}", too_small(asked, case, &parts, least)?),
            Err(refused) => bail!("--checkpoint {asked}: {refused}"),
        };
        let schedule = planned.schedule.clone();
        return Ok(Prepared { parts, schedule, asked: asked.clone(), costs: Some(Costs { chain, planned }) });
    }
    let stages = parts.len() + 1;
    let schedule = match asked.plan {
        Plan::None => Some(whole(stages)),
        Plan::Sequential(segments) => sequential(stages, segments),
        Plan::Revolve(slots) => revolve(stages, slots),
        Plan::BestSequential | Plan::Bytes(_) => None,
    };
    let Some(schedule) = schedule else {
        let parts = parts.len();
        bail!("--checkpoint {asked}: the network has {parts} parts; give 1 to {parts} segments, or 1 slot or more")
    };
    Ok(Prepared { parts, schedule, asked: asked.clone(), costs: None })
}

/// A budget less what a plan may be off by.
fn with_margin(plan: Plan) -> Plan {
    match plan {
        Plan::Bytes(budget) => Plan::Bytes(budget.saturating_sub(MARGIN)),
        other => other,
    }
}

/// Says that no plan fits, what the smallest one takes, and which smaller batch would fit.
fn too_small(asked: &Asked, case: &Case, parts: &[Part], least: u64) -> Result<String> {
    // What is measured differs by some bytes from run to run, so whole MiB are named that hold in the next run too.
    let enough = (least + 2 * MARGIN).div_ceil(1 << 20);
    let mut text = format!(
        "--checkpoint {asked}: with --batch {} no plan takes less than {least} bytes; give bytes:{enough}MiB",
        case.batch
    );
    let (stages, input) = (case.model.stages(case.classes), case.model.input_of(case.size));
    let mut batch = case.batch / 2;
    while batch > 0 && shape::fits(&stages, input, batch, true).is_ok() {
        let chain = measure(&Case { batch, ..*case }, parts)?;
        if let Ok(planned) = plan(&chain, with_margin(asked.plan)) {
            let bytes = planned.simulated.peak_bytes;
            text.push_str(&format!(", or --batch {batch}, for which a plan takes {bytes} bytes"));
            return Ok(text);
        }
        batch /= 2;
    }
    text.push_str(", or a smaller --image-size: no smaller batch fits either");
    Ok(text)
}

impl Prepared {
    /// What the plan is and what it will take, in lines.
    pub fn told(&self) -> Vec<String> {
        let Some(Costs { chain, planned }) = &self.costs else {
            return vec![format!("checkpoint {}: {} parts; {}", self.asked, self.parts.len(), self.schedule)];
        };
        let simulated = planned.simulated;
        let mut lines = vec![format!(
            "checkpoint {}: {} parts; planned peak {} B in {} ({} B without checkpoints), {} forward passes again, {} of {}",
            self.asked,
            self.parts.len(),
            simulated.peak_bytes,
            place(chain, planned),
            whole_peak(chain),
            simulated.recomputed,
            milliseconds(simulated.recompute_ns),
            milliseconds(simulated.ns),
        )];
        if self.asked.plan == Plan::BestSequential {
            lines.push(format!("  {} segments have the lowest peak", best_sequential(chain).0));
        }
        lines.push(format!("  schedule: {}", self.schedule));
        lines
    }

    /// Whether the plan has to keep a budget.
    pub fn has_budget(&self) -> bool {
        matches!(self.asked.plan, Plan::Bytes(_))
    }

    /// The run of `timeline` beside the plan; `recompute_ns` is of each step. None without the tracker, and of a run of a
    /// single step, which makes the optimizer's state.
    pub fn kept(&self, timeline: &Timeline, recompute_ns: &[u64]) -> Option<Kept> {
        let Costs { chain, planned } = self.costs.as_ref()?;
        let simulated = planned.simulated;
        let peaks = timeline.steps.iter().skip(WARM).filter_map(|step| step.requested_bytes);
        let measured_peak_bytes = peaks.max()?;
        let left_bytes = match self.asked.plan {
            Plan::Bytes(budget) => Some(budget as i64 - measured_peak_bytes as i64),
            _ => None,
        };
        Some(Kept {
            plan: self.asked.to_string(),
            parts: self.parts.len(),
            schedule: self.schedule.to_string(),
            planned_peak_bytes: simulated.peak_bytes,
            measured_peak_bytes,
            whole_peak_bytes: whole_peak(chain),
            left_bytes,
            recomputed: simulated.recomputed,
            planned_recompute_ns: simulated.recompute_ns,
            measured_recompute_ns: median(recompute_ns.get(WARM..).unwrap_or_default()),
            whole_ns: chain.least_ns(),
        })
    }
}

/// Where a plan has its peak, in words.
pub(super) fn place(chain: &Chain, planned: &Planned) -> String {
    let of = |pass: &str, stage: usize| format!("the {pass} pass of {}", chain.stages[stage].name);
    match planned.schedule.0.get(planned.simulated.peak_at) {
        None => "the optimizer's update".to_owned(),
        Some(&Operation::Backward { stage }) => of("backward", stage),
        Some(operation) => of("forward", operation.stage()),
    }
}

/// The peak of a step without checkpoints.
fn whole_peak(chain: &Chain) -> u64 {
    plan(chain, Plan::None).map_or(0, |planned| planned.simulated.peak_bytes)
}

impl Kept {
    /// In lines.
    pub fn lines(&self) -> Vec<String> {
        let off = 100.0 * (self.measured_peak_bytes as f64 / self.planned_peak_bytes as f64 - 1.0);
        let part = |ns: u64| 100.0 * ns as f64 / self.whole_ns as f64;
        let mut lines = vec![
            format!(
                "checkpoint {}: peak of a step planned {} B, measured {} B ({off:+.2} %); without checkpoints {} B",
                self.plan, self.planned_peak_bytes, self.measured_peak_bytes, self.whole_peak_bytes
            ),
            format!(
                "  computed again: {} forward passes of a part, planned {} a step ({:.1} % of a step without checkpoints), \
                 measured {} ({:.1} %)",
                self.recomputed,
                milliseconds(self.planned_recompute_ns),
                part(self.planned_recompute_ns),
                milliseconds(self.measured_recompute_ns),
                part(self.measured_recompute_ns)
            ),
        ];
        match self.left_bytes {
            Some(left @ 0..) => lines.push(format!("  kept within its budget, with {left} B to spare")),
            Some(over) => lines.push(format!("  broke its budget by {} B", -over)),
            None => {}
        }
        lines
    }
}
