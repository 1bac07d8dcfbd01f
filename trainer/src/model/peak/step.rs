//! A planned step as its readers see it: its peak, and what is live there.
use std::collections::BTreeMap;

use alloc_timeline::Category;

use super::live::{Instant, Live};
use super::walk::step;
use crate::model::plan::LOSS_LAYER;
use crate::model::shape::{Misfit, Shape};
use crate::model::stage::Stage;
use crate::optimizer::Optimizer;

/// What is live at each instant of a training step.
pub struct Step {
    pub(super) live: Live,
    /// The names of the stages, the loss, and the empty one of what is made in no layer.
    layers: Vec<String>,
    /// The number of the instant at which most is live; the latest of several.
    pub(super) peak: usize,
}

impl Step {
    /// Walks through a step of `batch` inputs of this shape in fp32.
    ///
    /// # Errors
    /// When the input does not fit the stages.
    pub fn new(stages: &[Stage], batch: u64, input: Shape, optimizer: Optimizer) -> Result<Step, Misfit> {
        let live = step(stages, batch, input, optimizer)?;
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

    /// The most bytes that are live at any instant of each phase and layer.
    pub fn by_place(&self) -> BTreeMap<(&'static str, &str), u64> {
        let mut by_place = BTreeMap::new();
        for instant in self.live.instants() {
            let most: &mut u64 = by_place.entry((instant.phase.name(), self.layer(instant.stage))).or_default();
            *most = instant.bytes.max(*most);
        }
        by_place
    }

    /// The instant of a phase and a layer at which most is live, and its number; the latest of several.
    pub(super) fn instant_of(&self, phase: &str, layer: &str) -> Option<(usize, Instant)> {
        let is_it = |instant: &Instant| instant.phase.name() == phase && self.layer(instant.stage) == layer;
        let instants = self.live.instants().iter().copied().enumerate().filter(|(_, instant)| is_it(instant));
        instants.max_by_key(|(_, instant)| instant.bytes)
    }
}
