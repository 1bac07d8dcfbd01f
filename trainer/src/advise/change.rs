//! What can be changed of a training step, by network.
use crate::model::ModelName;
use crate::model::op::{Op, Place};
use crate::model::shape;
use crate::model::stage::Stage;
use crate::optimizer::{Optimizer, OptimizerName};
use crate::settings::{Activation, Layout};

/// A change, as it is typed and as it is told.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    /// What is typed besides.
    pub(super) flags: Vec<String>,
    /// The optimizer, where that is what changes.
    pub(super) optimizer: Option<Optimizer>,
    /// How what is learned differs.
    pub(super) result: &'static str,
}

impl Change {
    fn of(flags: &[&str], result: &'static str) -> Change {
        let flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        Change { flags, optimizer: None, result }
    }

    fn optimizer(optimizer: Optimizer) -> Change {
        Change { flags: Vec::new(), optimizer: Some(optimizer), result: "another optimizer" }
    }

    /// What is typed for it.
    pub(super) fn text(&self) -> String {
        let Some(Optimizer { name, momentum, .. }) = self.optimizer else { return self.flags.join(" ") };
        let momentum = momentum.map_or(String::new(), |momentum| format!(" --momentum {momentum}"));
        format!("--optimizer {}{momentum}", name.as_str())
    }
}

/// The training step that is to take less memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) model: ModelName,
    pub(super) batch: u64,
    pub(super) size: u64,
    pub(super) classes: u64,
    pub(super) optimizer: Optimizer,
}

/// All changes that `step` can be made with.
pub(super) fn changes(step: &Step) -> Vec<Change> {
    let &Step { model, batch, size, classes, optimizer } = step;
    let stages = model.stages(classes);
    let has = |what: fn(&Stage) -> bool| stages.iter().any(what);
    let runs = |batch| shape::fits(&stages, model.input_of(size), batch, true).is_ok();
    let mut all = Vec::new();
    for parts in [2, 4] {
        if batch.is_multiple_of(parts) && runs(batch / parts) {
            let has_statistics = has(|stage| matches!(stage.op, Op::BatchNorm { .. }));
            let of_batch = if has_statistics { "batch norms see a part" } else { ROUNDED };
            all.push(Change::of(&["--accumulate", &parts.to_string()], of_batch));
        }
    }
    if !model.reads_text() {
        all.push(Change::of(&["--checkpoint", "sequential"], EQUAL));
        all.push(Change::of(&["--layout", Layout::ChannelsLast.as_str()], ROUNDED));
    }
    all.push(Change::of(&["--precision", "bf16"], "rounded to 8 bits"));
    if optimizer.states() > 1 {
        all.push(Change::optimizer(Optimizer { name: OptimizerName::Sgd, ..Optimizer::default() }));
    }
    if optimizer.states() > 0 {
        let momentum = Some(0.0);
        all.push(Change::optimizer(Optimizer { name: OptimizerName::Sgd, momentum, ..Optimizer::default() }));
    }
    if has(|stage| matches!(stage.op, Op::Relu6)) {
        all.push(Change::of(&["--activation", Activation::Relu.as_str()], ANOTHER));
    }
    if has(|stage| matches!(stage.op, Op::Relu(_))) {
        all.push(Change::of(&["--activation", Activation::Relu6.as_str()], ANOTHER));
    }
    if has(|stage| matches!(stage.op, Op::Relu(Place::InPlace) | Op::Relu6 | Op::Add(Place::InPlace))) {
        all.push(Change::of(&["--in-place", "off"], EQUAL));
    }
    all
}

const EQUAL: &str = "the same";
const ROUNDED: &str = "the same, but for rounding";
const ANOTHER: &str = "another network";

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(model: ModelName, batch: u64, name: OptimizerName) -> Vec<String> {
        let optimizer = Optimizer { name, ..Optimizer::default() };
        let step = Step { model, batch, size: model.input().size(), classes: 10, optimizer };
        changes(&step).iter().map(Change::text).collect()
    }

    #[test]
    fn each_network_has_the_changes_that_it_can_be_made_with() {
        assert_eq!(
            texts(ModelName::ResNet18, 8, OptimizerName::Sgd),
            [
                "--accumulate 2",
                "--accumulate 4",
                "--checkpoint sequential",
                "--layout channels-last",
                "--precision bf16",
                "--optimizer sgd --momentum 0",
                "--activation relu6",
                "--in-place off",
            ]
        );
        let mobilenet = texts(ModelName::MobileNetV2, 6, OptimizerName::Adam);
        assert!(mobilenet.contains(&"--optimizer sgd".to_owned()), "{mobilenet:?}");
        assert!(mobilenet.contains(&"--activation relu".to_owned()), "{mobilenet:?}");
        assert!(!mobilenet.contains(&"--accumulate 4".to_owned()), "6 images have no 4 equal parts: {mobilenet:?}");
        let lstm = texts(ModelName::Lstm, 3, OptimizerName::Sgd);
        assert_eq!(lstm, ["--precision bf16", "--optimizer sgd --momentum 0"]);
    }
}
