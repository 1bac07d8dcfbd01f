//! A training step by a schedule: parts of a network forward and backward, some of them more than once.
//!
//! Between two parts the graph is cut: a part that saves reads a map that has no history, and its gradient is handed to the
//! part before when that runs backward. So the gradients are those of a step that runs as a whole, to the last bit where
//! libtorch's own arithmetic is so. What a part does besides leaving a map, it does once: batch norm updates its
//! running statistics in the part's first forward pass, and a dropout that runs again drops the same elements.
//!
//! ```text
//! phase      operations
//! forward    the first forward pass of each part
//! loss       the same of the loss
//! recompute  all further forward passes
//! backward   the backward passes
//! ```
use std::time::{Duration, Instant};

use alloc_timeline::Category;
use alloc_tracker::{layer, phase};
use tch::{Kind, Result, Tensor};
use trainer_checkpoint::{Keep, Operation, Schedule};

use super::cut::Part;
use super::generator::GeneratorState;
use super::root::Root;
use crate::model::plan::LOSS_LAYER;
use crate::model::{Network, Statistics, cross_entropy};

/// When a step tells what it is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before an operation.
    Before,
    /// Behind it.
    After,
}

/// What a step left besides gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ran {
    /// The loss.
    pub loss: f64,
    /// The time of all forward passes of a part beyond its first one.
    pub recompute: Duration,
}

/// What is there of one part, or of the loss.
#[derive(Default)]
struct Present {
    map: Option<Tensor>,
    graph: Option<Graph>,
    /// The gradient of its map.
    handed: Option<Tensor>,
    /// Of a part that draws random numbers: what the generator was about to draw before its first forward pass.
    generator: Option<GeneratorState>,
    /// Whether it has been run forward.
    seen: bool,
}

/// What a part saved for its backward pass.
struct Graph {
    root: Root,
    /// The map that the part read, as the leaf at which its gradient arrives.
    read: Tensor,
}

/// A step that is running.
struct Step<'a> {
    network: &'a mut Network,
    parts: &'a [Part],
    inputs: &'a Tensor,
    labels: &'a Tensor,
    /// The parts, and the loss behind them.
    present: Vec<Present>,
    ran: Ran,
}

/// Runs `schedule` over a network that consists of `parts`, and the loss behind them. Leaves the gradients of all parameters.
/// Tells `watch` before and after each operation; a snapshot may be taken there.
///
/// # Errors
/// When libtorch fails.
///
/// # Panics
/// When the schedule is none of these parts and the loss.
pub fn step(
    network: &mut Network,
    parts: &[Part],
    schedule: &Schedule,
    (inputs, labels): (&Tensor, &Tensor),
    watch: &mut dyn FnMut(Moment, Operation),
) -> Result<Ran> {
    let present = (0..=parts.len()).map(|_| Present::default()).collect();
    let ran = Ran { loss: f64::NAN, recompute: Duration::ZERO };
    let mut step = Step { network, parts, inputs, labels, present, ran };
    for &operation in &schedule.0 {
        watch(Moment::Before, operation);
        match operation {
            Operation::Forward { stage, keep } => step.forward(stage, keep)?,
            Operation::Backward { stage } => step.backward(stage)?,
            Operation::Drop { stage } => step.present[stage].map = None,
        }
        watch(Moment::After, operation);
    }
    Ok(step.ran)
}

impl Step<'_> {
    fn forward(&mut self, index: usize, keep: Keep) -> Result<()> {
        let began = Instant::now();
        let again = self.present[index].seen;
        let is_loss = index == self.parts.len();
        let _phase = phase!(match (again, is_loss) {
            (true, _) => "recompute",
            (false, true) => "loss",
            (false, false) => "forward",
        });
        // This handle holds the map to the end of the operation, whatever the stages in the part let go.
        let read = self.read(index);
        let map = if keep == Keep::All {
            let leaf = read.f_detach()?.f_set_requires_grad(index > 0)?;
            let map = self.run(index, &leaf)?;
            self.present[index].graph = Some(Graph { root: Root::of(&map)?, read: leaf });
            map.f_detach()?
        } else {
            let _no_grad = tch::no_grad_guard();
            self.run(index, &read)?
        };
        if let (Keep::Nothing, Some(before)) = (keep, index.checked_sub(1)) {
            self.present[before].map = None;
        }
        if is_loss {
            self.ran.loss = map.f_double_value(&[])?;
        }
        let present = &mut self.present[index];
        (present.map, present.seen) = (Some(map), true);
        if again {
            self.ran.recompute += began.elapsed();
        }
        Ok(())
    }

    /// The map that a part reads.
    fn read(&self, index: usize) -> Tensor {
        match index.checked_sub(1) {
            None => self.inputs.shallow_clone(),
            Some(before) => self.map(before).shallow_clone(),
        }
    }

    fn map(&self, index: usize) -> &Tensor {
        // The simulator has run the schedule before, and each of its operations found what it needs.
        self.present[index].map.as_ref().unwrap_or_else(|| unreachable!("the map of part {index} is not there"))
    }

    /// What a part makes of the map that it reads: the same whenever it runs.
    fn run(&mut self, index: usize, read: &Tensor) -> Result<Tensor> {
        let Some(part) = self.parts.get(index) else {
            let _layer = layer!(LOSS_LAYER);
            return cross_entropy(read.shallow_clone(), self.labels);
        };
        let again = self.present[index].seen;
        let statistics = if again { Statistics::Left } else { Statistics::Updated };
        if !part.is_random {
            return self.network.forward_part(part.stages.clone(), read.shallow_clone(), statistics);
        }
        let now = GeneratorState::of(read)?;
        if let (true, Some(first)) = (again, &self.present[index].generator) {
            first.set(read)?;
        }
        let map = self.network.forward_part(part.stages.clone(), read.shallow_clone(), statistics);
        if again {
            now.set(read)?;
        } else {
            self.present[index].generator = Some(now);
        }
        map
    }

    fn backward(&mut self, index: usize) -> Result<()> {
        let _phase = phase!("backward");
        let present = &mut self.present[index];
        let Some(Graph { root, read }) = present.graph.take() else {
            unreachable!("part {index} has saved nothing");
        };
        let gradient = match present.handed.take() {
            Some(handed) => handed,
            // The loss, whose gradient is 1.
            None => Tensor::f_ones([], (Kind::Float, read.device()))?,
        };
        present.map = None;
        root.backward(gradient)?;
        if let Some(before) = index.checked_sub(1) {
            let gradient = read.grad();
            // libtorch accumulates it as it does that of a parameter. It is none.
            let _ = alloc_torch::label(&gradient, Category::Activation);
            self.present[before].handed = Some(gradient);
            self.present[before].map = None;
        }
        Ok(())
    }
}
