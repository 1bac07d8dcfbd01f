//! The peak of a training step, predicted from shapes alone: all tensors that are live at each instant, through forward
//! pass, loss, backward pass and optimizer.
//!
//! The walk frees what the trainer and libtorch free, in their order:
//! - forward: a map goes after the last stage that reads it, unless a node of the graph keeps it;
//! - backward: the engine runs the node that was made last first (`torch/csrc/autograd/engine.cpp`: nodes are queued by
//!   sequence number). A node makes the gradients of what it read while the gradient that reached it and the maps that
//!   it keeps are still there; then both go (`release_variables`). A map that two stages read gets two gradients, which
//!   are added in place where the first can be written over (`input_buffer.cpp`: `can_accumulate_inplace`);
//! - a parameter's gradient stays (`accumulate_grad.h` takes it over without a copy);
//! - the optimizer's state is there, as from the second step on, and its temporaries come one parameter at a time.
//!
//! What is not modelled: the workspace inside of an operator (oneDNN's reordered copies and scratch memory, sums that batch
//! norm makes, the loader's temporaries), libtorch's and the program's small blocks, and what the process held before `main`.
//! So this is no upper bound. `measured` puts it beside a run and says which operator makes the difference.
mod live;

mod walk;

pub mod measured;

use std::collections::BTreeMap;

use alloc_timeline::Category;

pub use self::live::Instant;
use self::live::Live;
use super::plan::LOSS_LAYER;
use super::shape::{Misfit, Shape};
use super::stage::Stage;
use crate::optimizer::Optimizer;

/// What is live at each instant of a training step.
pub struct Step {
    live: Live,
    /// The names of the stages, the loss, and the empty one of what is made in no layer.
    layers: Vec<String>,
    /// The number of the instant at which most is live; the latest of several.
    peak: usize,
}

impl Step {
    /// Walks through a step of `batch` inputs of this shape in fp32.
    ///
    /// # Errors
    /// When the input does not fit the stages.
    pub fn new(stages: &[Stage], batch: u64, input: Shape, optimizer: Optimizer) -> Result<Step, Misfit> {
        let live = walk::step(stages, batch, input, optimizer)?;
        let layers =
            stages.iter().map(|stage| stage.name.clone()).chain([LOSS_LAYER.to_owned(), String::new()]).collect();
        let by_bytes = |(_, instant): &(usize, &Instant)| instant.bytes;
        let peak = live.instants().iter().enumerate().max_by_key(by_bytes).map_or(0, |(index, _)| index);
        Ok(Step { live, layers, peak })
    }

    /// The instant at which most is live.
    pub fn peak(&self) -> Instant {
        self.live.instants()[self.peak]
    }

    /// The layer that runs at an instant.
    pub fn layer(&self, stage: usize) -> &str {
        &self.layers[stage]
    }

    /// What is live at the peak, by category.
    pub fn by_category(&self) -> BTreeMap<Category, u64> {
        let mut by_category = BTreeMap::new();
        for (owner, bytes) in self.live.at(self.peak) {
            *by_category.entry(owner.category).or_default() += bytes;
        }
        by_category
    }

    /// The layer that has most of a category at the peak, and how much.
    pub fn largest_layer(&self, category: Category) -> (String, u64) {
        let mut by_layer: BTreeMap<&str, u64> = BTreeMap::new();
        for (owner, bytes) in self.live.at(self.peak).filter(|(owner, _)| owner.category == category) {
            *by_layer.entry(self.layer(owner.stage)).or_default() += bytes;
        }
        let largest = by_layer.into_iter().max_by_key(|&(_, bytes)| bytes);
        largest.map_or_else(Default::default, |(layer, bytes)| (layer.to_owned(), bytes))
    }
}
