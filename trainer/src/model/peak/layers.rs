//! The layers of a step by number: those of its networks, one network behind the other, then the loss, what is made in no
//! layer, and whatever else a step has.
use crate::model::op::Op;
use crate::model::plan::LOSS_LAYER;
use crate::model::stage::Stage;

/// The names of the layers of a step.
pub(super) struct Layers {
    names: Vec<String>,
    /// The number of the loss.
    pub(super) loss: usize,
    /// The number of what is made in no layer.
    pub(super) none: usize,
}

impl Layers {
    /// Those of these networks, then of the loss, and none.
    pub(super) fn of(networks: &[&[Stage]]) -> Layers {
        let stages = networks.iter().flat_map(|stages| computed(stages));
        let mut names: Vec<String> = stages.map(|stage| stage.name.clone()).collect();
        let loss = names.len();
        names.extend([LOSS_LAYER.to_owned(), String::new()]);
        Layers { names, loss, none: loss + 1 }
    }

    /// One more; returns its number.
    pub(super) fn add(&mut self, name: &str) -> usize {
        self.names.push(name.to_owned());
        self.names.len() - 1
    }

    /// The name of a layer.
    pub(super) fn name(&self, layer: usize) -> &str {
        &self.names[layer]
    }
}

/// The stages that the network computes: all but a loss at the end, which the step computes behind it.
pub(super) fn computed(stages: &[Stage]) -> &[Stage] {
    match stages.split_last() {
        Some((Stage { op: Op::Loss(_), .. }, computed)) => computed,
        _ => stages,
    }
}
