//! What each part of a network costs, measured: a step is run part by part, and each operation is recorded as a step of its own,
//! with its own peak.
//!
//! ```text
//! c1 c2 ... cN     all parts forward, the map before each kept:    output, forward peak, time
//! sL dL bL         the loss saved, its map dropped, backward:      saved, peaks, times
//! sN dN bN ...     the same of each part, the last one first
//! ```
//!
//! So at most one part is saved at a time, and what is measured fits into less memory than what is planned. The batch is made up:
//! neither bytes nor times depend on what is in it.
use std::time::{Duration, Instant};

use alloc_tracker::Session;
use anyhow::{Context, Result, ensure};
use tch::{Device, Kind, Tensor};
use trainer_checkpoint::{Chain, Keep, Operation, Schedule, Stage};

use super::cut::Part;
use super::execute::{self, Moment};
use crate::device::DeviceName;
use crate::model::{ModelName, Network};
use crate::optimizer::{Optimizer, Updater};

/// Steps that fill caches and make the optimizer's state, and steps of which the shortest times count.
const WARM: usize = 1;
const MEASURED: usize = 2;

/// A training step that is to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The network.
    pub model: ModelName,
    /// Images in a step.
    pub batch: u64,
    /// Their height and width.
    pub size: u64,
    /// What the network tells apart.
    pub classes: u64,
    /// Where it runs.
    pub device: DeviceName,
    /// What updates its parameters.
    pub optimizer: Optimizer,
    /// Whether what can work in place does.
    pub in_place: bool,
}

/// One operation, as it was recorded. Bytes are requested ones of the process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Recorded {
    peak_bytes: u64,
    /// When it was over.
    left_bytes: u64,
    ns: u64,
}

/// Measures `case`, whose network consists of `parts`. Needs the tracker, and that no session is open.
///
/// # Errors
/// When libtorch fails, or nothing is recorded.
pub fn measure(case: &Case, parts: &[Part]) -> Result<Chain> {
    let folder = tempfile::tempdir().context("no folder can be made for what is measured")?;
    let session = Session::builder()
        .output(folder.path().join("stages.timeline.json"))
        .interval(Duration::from_millis(100))
        .start()
        .context("the stages cannot be measured")?;
    let times = steps(case, parts, &session);
    let path = session.finish().context("what was measured could not be written")?.path;
    let times = times?;
    let timeline = alloc_timeline::load(&path)?;
    ensure!(timeline.steps.len() == times.len(), "the tracker missed some of the operations; see ALLOC_TRACKER");
    let recorded = timeline.steps.iter().zip(times).map(|(step, ns)| Recorded {
        peak_bytes: step.requested_bytes.unwrap_or(step.live_bytes),
        left_bytes: step.end_requested_bytes.unwrap_or(step.end_live_bytes),
        ns,
    });
    let recorded: Vec<Recorded> = recorded.collect();
    let each: Vec<&[Recorded]> = recorded.chunks(recorded.len() / (WARM + MEASURED)).collect();
    Ok(chain(parts, &each[WARM..]))
}

/// The schedule whose operations are measured, for so many stages, the loss included.
fn schedule(stages: usize) -> Schedule {
    let forward = (0..stages - 1).map(|stage| Operation::Forward { stage, keep: Keep::Input });
    let backward = (0..stages).rev().flat_map(|stage| {
        [Operation::Forward { stage, keep: Keep::All }, Operation::Drop { stage }, Operation::Backward { stage }]
    });
    Schedule(forward.chain(backward).collect())
}

/// Runs the steps: in each the batch, the operations and the update are recorded. Returns the time of each.
fn steps(case: &Case, parts: &[Part], session: &Session) -> Result<Vec<u64>> {
    let device: Device = case.device.into();
    let mut network = Network::init(case.model.stages(case.classes), device)?.with_in_place(case.in_place);
    let mut updater = Updater::new(case.optimizer, network.store().trainable_variables())?;
    let schedule = schedule(parts.len() + 1);
    let mut times = Vec::new();
    for _ in 0..WARM + MEASURED {
        let (inputs, labels) = recorded(session, &mut times, case.device, || batch(case, device))?;
        let mut began = Instant::now();
        let mut watch = |moment, _| {
            case.device.synchronize();
            match moment {
                Moment::Before => {
                    session.begin_step();
                    began = Instant::now();
                }
                Moment::After => {
                    times.push(began.elapsed().as_nanos() as u64);
                    session.end_step();
                }
            }
        };
        execute::step(&mut network, parts, &schedule, (&inputs, &labels), &mut watch)?;
        recorded(session, &mut times, case.device, || updater.update())?;
    }
    Ok(times)
}

/// Does `work` as a step of the session.
fn recorded<T>(
    session: &Session,
    times: &mut Vec<u64>,
    device: DeviceName,
    work: impl FnOnce() -> tch::Result<T>,
) -> tch::Result<T> {
    let _step = session.step();
    let began = Instant::now();
    let done = work();
    device.synchronize();
    times.push(began.elapsed().as_nanos() as u64);
    done
}

/// Random images, and all of class 0.
fn batch(case: &Case, device: Device) -> tch::Result<(Tensor, Tensor)> {
    let dimensions = [case.batch].into_iter().chain(case.model.input_of(case.size).dimensions());
    let dimensions: Vec<i64> = dimensions.map(|side| side as i64).collect();
    let images = Tensor::f_rand(dimensions, (Kind::Float, device))?;
    Ok((images, Tensor::f_zeros([case.batch as i64], (Kind::Int64, device))?))
}

/// The costs, from some steps that were recorded: the bytes of the last one, and the shortest times.
fn chain(parts: &[Part], steps: &[&[Recorded]]) -> Chain {
    let stages = parts.len() + 1;
    let operations = schedule(stages).0;
    let last = steps[steps.len() - 1];
    let shortest = |at: usize| steps.iter().map(|step| step[at].ns).min().unwrap_or(0);
    // The batch is recorded before the operations, so that the operation of an index stands one behind.
    let at = |wanted: Operation| operations.iter().position(|&operation| operation == wanted).map(|index| index + 1);
    let before = |at: usize| last[at - 1].left_bytes;
    let above = |at: usize| last[at].peak_bytes.saturating_sub(before(at));
    let fixed_bytes = last[0].left_bytes;
    let mut chain = Chain { fixed_bytes, ..Chain::default() };
    for stage in 0..stages {
        let name = parts.get(stage).map_or_else(|| "loss".to_owned(), |part| part.name.clone());
        let mut costs = Stage { name, ..Stage::default() };
        let saving = at(Operation::Forward { stage, keep: Keep::All });
        let (Some(saving), Some(backward)) = (saving, at(Operation::Backward { stage })) else { continue };
        costs.saved_and_output_bytes = last[saving].left_bytes.saturating_sub(before(saving));
        costs.saved_bytes = last[saving + 1].left_bytes.saturating_sub(before(saving));
        costs.saving_peak_bytes = above(saving);
        costs.forward_ns = shortest(saving);
        if let Some(forward) = at(Operation::Forward { stage, keep: Keep::Input }) {
            costs.output_bytes = last[forward].left_bytes.saturating_sub(before(forward));
            costs.forward_peak_bytes = above(forward);
            costs.forward_ns = costs.forward_ns.min(shortest(forward));
        } else {
            costs.output_bytes = costs.saved_and_output_bytes - costs.saved_bytes.min(costs.saved_and_output_bytes);
            costs.forward_peak_bytes = costs.saving_peak_bytes;
        }
        costs.backward_peak_bytes = above(backward);
        costs.backward_ns = shortest(backward);
        // A backward pass lets go what was saved, the map before and the gradient that it got, and leaves a gradient as large
        // as the map before and those of its parameters.
        let handed = if stage + 1 == stages { 0 } else { costs.output_bytes };
        let gone = costs.saved_bytes + handed;
        costs.gradient_bytes = (last[backward].left_bytes + gone).saturating_sub(before(backward));
        chain.stages.push(costs);
    }
    chain.update_peak_bytes = last[last.len() - 1].peak_bytes.saturating_sub(fixed_bytes);
    chain
}

#[cfg(test)]
mod tests {
    use super::*;
    use trainer_checkpoint::simulate;

    /// One part and the loss, as they would be recorded: the batch leaves 100. The part's map is 8; saved it takes 20, and 12
    /// without its map. The loss leaves 4 and saves 6 more. Gradients: 8 of the map, 30 of the parameters.
    #[test]
    fn costs_of_what_was_recorded() {
        let part = Part { stages: 0..1, name: "conv1".to_owned(), is_random: false };
        let of = |values: [(u64, u64); 9], ns| {
            values.map(|(peak_bytes, left_bytes)| Recorded { peak_bytes, left_bytes, ns }).to_vec()
        };
        // batch, c1, s2, d2, b2, s1, d1, b1, update
        let last = of(
            [
                (100, 100),
                (111, 108),
                (120, 118),
                (118, 114),
                (125, 108),
                (130, 128),
                (128, 120),
                (150, 130),
                (140, 100),
            ],
            7,
        );
        let chain = chain(&[part], &[&of([(0, 0); 9], 9), &last]);
        let expected = Stage {
            name: "conv1".to_owned(),
            output_bytes: 8,
            saved_bytes: 12,
            saved_and_output_bytes: 20,
            gradient_bytes: 30,
            forward_peak_bytes: 11,
            saving_peak_bytes: 22,
            backward_peak_bytes: 30,
            forward_ns: 7,
            backward_ns: 7,
        };
        assert_eq!(chain.stages[0], expected);
        let loss = &chain.stages[1];
        assert_eq!((loss.output_bytes, loss.saved_bytes, loss.saved_and_output_bytes), (4, 6, 10));
        assert_eq!((loss.gradient_bytes, loss.backward_peak_bytes), (0, 11));
        assert_eq!((chain.fixed_bytes, chain.update_peak_bytes), (100, 40));
        let simulated = simulate(&chain, &schedule(2)).expect("valid");
        assert_eq!(simulated.peak_bytes, 150, "what was measured, put together again");
    }
}
