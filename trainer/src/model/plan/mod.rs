//! What a training step keeps for its backward pass, from the layers' shapes alone: no tensor is made.
//!
//! A walk over the stages in which each map lies in a *storage*: who allocated it, how many bytes, and which nodes of the
//! autograd graph hold on to it once the forward pass and the loss are done. Each is kept by a [`Rule`], which says what for
//! and where libtorch has it written; most are those of `tools/autograd/derivatives.yaml` in PyTorch: a formula that names
//! `self` keeps the input, one that names `result` the output.
//!
//! ```text
//! rule -> storage -> loss, images, recurrent, sequence: what each kind of stage allocates and keeps -> kept: row by row
//! ```
//!
//! What is kept depends on what learns: before the first stage that does there is no node, so nothing is kept; behind it the
//! backward pass goes through each stage, frozen or not. libtorch's convolutions, norms and LSTM keep as much when they are
//! frozen; linear layers, embeddings and GRU keep their input only to learn. Of a product of two maps, one is kept for the
//! gradient of the other.
//!
//! A storage belongs to the layer that allocated it, so an in-place ReLU's output is its batch norm's. The images and
//! labels are the input, not counted here.
mod rule;

mod storage;
mod workspace;

mod images;
mod loss;
mod recurrent;

mod sequence;

mod kept;

use std::collections::BTreeMap;

pub use self::kept::{Counted, Kept};
pub use self::rule::Rule;
pub(super) use self::storage::Storages;
use self::storage::{Reach, Read};
use super::op::Op;
use super::shape::{self, Misfit, Shape};
pub use super::shape::{F32, I64};
use super::stage::{Stage, needs_gradient};

pub use super::loss::LOSS_LAYER;

/// Bytes that are kept when forward pass and loss are done, by the layer that allocated them. Requested bytes, for
/// `batch` inputs of this shape in fp32.
pub fn saved_for_backward(stages: &[Stage], batch: u64, input: Shape) -> Result<BTreeMap<String, u64>, Misfit> {
    Ok(storages(stages, batch, input)?.kept_by_owner())
}

/// The same storage by storage, in the order of the stages: who keeps each and why. What is counted sums to the same bytes.
///
/// # Errors
/// When the input does not fit the stages.
pub fn kept_by_rule(stages: &[Stage], batch: u64, input: Shape) -> Result<Vec<Kept>, Misfit> {
    Ok(kept::kept(&storages(stages, batch, input)?, stages))
}

/// Bytes of what is kept by frozen convolutions and by nothing else: a gradient of their weights alone would read it.
///
/// # Errors
/// When the input does not fit the stages.
pub fn kept_by_frozen_convolutions(stages: &[Stage], batch: u64, input: Shape) -> Result<u64, Misfit> {
    let is_frozen = |stage: usize| stages.get(stage).is_some_and(|stage| stage.frozen);
    let storages = storages(stages, batch, input)?.storages;
    let alone = storages.iter().filter(|storage| {
        let mut keepers = storage.keepers.iter();
        let is_saved = storage.owner.is_some() && !storage.keepers.is_empty();
        is_saved && keepers.all(|keeper| *keeper.rule == images::CONVOLUTION && is_frozen(keeper.stage))
    });
    Ok(alone.map(|storage| storage.bytes).sum())
}

/// The storages of a forward pass and its loss.
pub(super) fn storages(stages: &[Stage], batch: u64, input: Shape) -> Result<Storages, Misfit> {
    let shapes = shape::shapes(stages, input)?;
    let passes = needs_gradient(stages, false);
    let mut storages = Storages::with_input(input_bytes(batch, input), input);
    for ((stage, &shape), &passes) in stages.iter().zip(&shapes[1..]).zip(&passes[1..]) {
        storages.reach(Reach::into(stage, passes));
        let reads: Vec<Read> = stage.reads.iter().map(|&map| storages.map(map)).collect();
        if let Op::Loss(loss) = stage.op {
            loss::keep(&mut storages, loss, reads[0].storage, batch);
            continue;
        }
        let storage = left_by(&mut storages, stage, &reads, shape, batch);
        let places_first = match stage.op {
            Op::Sequence(op) => sequence::leaves_places_first(op, shape, batch),
            Op::Relu(_) | Op::Tanh | Op::Dropout { .. } => reads[0].places_first,
            _ => false,
        };
        storages.add_map(Read { storage, shape, needs_gradient: passes, places_first });
    }
    if !matches!(stages.last(), Some(Stage { op: Op::Loss(_), .. })) {
        storages.reach(Reach::Through);
        let logits = shapes.last().map_or(0, |shape| shape.elements());
        loss::keep_of_classes(&mut storages, batch * logits);
    }
    Ok(storages)
}

/// Bytes that each further input adds: itself and its labels, and what is saved of it for backward.
pub fn bytes_an_image(stages: &[Stage], input: Shape) -> Result<u64, Misfit> {
    Ok(saved_an_input(stages, input)? + input_bytes(1, input) + label_bytes(stages, 1, input)?)
}

/// Bytes that are saved for backward of each further input. Networks over images save the same of each. Recurrent layers
/// save less of a single text than of each of several, and whole pages of workspace, so this is the mean over 32 of them.
pub fn saved_an_input(stages: &[Stage], input: Shape) -> Result<u64, Misfit> {
    let saved = |batch| Ok(saved_for_backward(stages, batch, input)?.values().sum::<u64>());
    Ok((saved(34)? - saved(2)?) / 32)
}

/// Bytes of the labels of a batch: one for each place at which the network tells classes apart.
pub fn label_bytes(stages: &[Stage], batch: u64, input: Shape) -> Result<u64, Misfit> {
    let places = shape::shapes(stages, input)?.last().map_or(0, |shape| shape.places());
    Ok(batch * places * I64)
}

/// The storage in which a stage leaves its map of shape `out`.
fn left_by(storages: &mut Storages, stage: &Stage, reads: &[Read], out: Shape, batch: u64) -> usize {
    match stage.op {
        Op::Sequence(op) => sequence::left_by(storages, op, &stage.name, reads, out, batch),
        op => images::left_by(storages, op, &stage.name, reads[0], out, batch),
    }
}

/// Bytes of a batch of inputs.
pub(super) fn input_bytes(batch: u64, input: Shape) -> u64 {
    batch * input.bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    use crate::model::name::ModelName;

    fn image(side: u64) -> Shape {
        Shape::Maps { channels: 3, side }
    }

    /// Elements that one image leaves behind a kind of stage.
    fn elements(model: ModelName, kind: fn(Op) -> bool) -> u64 {
        let stages = model.stages(1000);
        let shapes = shape::shapes(&stages, image(224)).expect("224 fits");
        stages.iter().zip(&shapes[1..]).filter(|(stage, _)| kind(stage.op)).map(|(_, shape)| shape.elements()).sum()
    }

    /// Saved bytes that grow with the batch, in bytes an image: the difference of two batches.
    fn per_image(model: ModelName, side: u64) -> u64 {
        let stages = model.stages(1000);
        let total = |batch| saved_for_backward(&stages, batch, image(side)).expect("fits").values().sum::<u64>();
        assert_eq!(total(3) - total(2), total(2) - total(1), "linear in the batch");
        total(2) - total(1)
    }

    fn mib(bytes: u64) -> String {
        format!("{:.3}", bytes as f64 / f64::from(1 << 20))
    }

    #[test]
    fn parameter_counts_are_the_published_ones() {
        let count = |model: ModelName| model.stages(1000).iter().map(|stage| stage.op.parameters()).sum::<u64>();
        assert_eq!(count(ModelName::ResNet18), 11_689_512);
        assert_eq!(count(ModelName::MobileNetV1), 4_231_976);
        assert_eq!(mib(count(ModelName::ResNet18) * F32), "44.592");
        assert_eq!(mib(count(ModelName::MobileNetV1) * F32), "16.144");
    }

    #[test]
    fn elements_of_resnet18_at_224() {
        assert_eq!(elements(ModelName::ResNet18, |op| matches!(op, Op::Conv(_))), 2_483_712);
        assert_eq!(elements(ModelName::ResNet18, |op| matches!(op, Op::Relu(_))), 2_308_096);
        assert_eq!(elements(ModelName::ResNet18, |op| matches!(op, Op::MaxPool(_))), 200_704);
    }

    #[test]
    fn elements_of_mobilenet_v1_at_224() {
        assert_eq!(elements(ModelName::MobileNetV1, |op| matches!(op, Op::Conv(_))), 5_042_688);
        assert_eq!(elements(ModelName::MobileNetV1, |op| matches!(op, Op::Relu(_))), 5_042_688);
    }

    /// Convolution outputs and ReLU outputs at 4 B, max pool's output at 4 B and indices at 8 B, fc's input, the
    /// log-probabilities of 1000 classes.
    #[test]
    fn bytes_an_image_at_224() {
        let resnet = per_image(ModelName::ResNet18, 224);
        assert_eq!(resnet, (2_483_712 + 2_308_096) * 4 + 200_704 * (4 + 8) + 512 * 4 + 1000 * 4);
        assert_eq!(mib(resnet), "20.582");
        let mobilenet = per_image(ModelName::MobileNetV1, 224);
        assert_eq!(mobilenet, (5_042_688 + 5_042_688) * 4 + 1024 * 4 + 1000 * 4);
        assert_eq!(mib(mobilenet), "38.480");
    }

    /// The map of 3 x 224 x 224 in f32, the label in i64, and what the backward pass needs.
    #[test]
    fn a_further_image_adds_its_input_and_its_maps() {
        for model in ModelName::DEMO {
            let adds = bytes_an_image(&model.stages(1000), image(224)).expect("224 fits");
            assert_eq!(adds, per_image(model, 224) + 3 * 224 * 224 * 4 + 8, "{model}");
        }
    }

    /// What does not grow with the batch: mean and 1/deviation of every batch norm, the loss, its total weight.
    #[test]
    fn bytes_that_a_batch_of_any_size_keeps() {
        for (model, channels) in [(ModelName::ResNet18, 4_800), (ModelName::MobileNetV1, 10_944)] {
            let stages = model.stages(1000);
            let one: u64 = saved_for_backward(&stages, 1, image(64)).expect("64 fits").values().sum();
            assert_eq!(one - per_image(model, 64), channels * 8 + 4 + 4, "{model}");
        }
    }

    /// One residual block with a projection, batch 2, image 64: maps of 128 x 8 x 8 x 4 B x 2 = 65,536 B.
    #[test]
    fn owners_in_a_block_with_a_projection() {
        let saved = saved_for_backward(&ModelName::ResNet18.stages(1000), 2, image(64)).expect("64 fits");
        let map = 65_536;
        assert_eq!(saved["layer2.0.conv1"], map, "batch norm keeps its input");
        assert_eq!(saved["layer2.0.bn1"], map + 128 * 8, "ReLU keeps its output, which is this storage");
        assert_eq!(saved["layer2.0.bn2"], map + 128 * 8, "the sum and the last ReLU work in this storage");
        assert_eq!(saved["layer2.0.downsample.0"], map);
        assert_eq!(saved["layer2.0.downsample.1"], 128 * 8, "an operand of the sum is not kept");
        assert_eq!(saved["maxpool"], 2 * 64 * 16 * 16 * (4 + 8), "output and indices");
        assert_eq!(saved["avgpool"], 2 * 512 * 4, "the input of fc");
        assert_eq!(saved[LOSS_LAYER], 2 * 1000 * 4 + 4 + 4);
        assert!(!saved.contains_key("fc"), "the logits are dropped: log-softmax keeps its result");
        assert!(!saved.keys().any(|layer| layer.ends_with("relu")), "in place, nothing of its own");
    }

    /// 97 -> 49 -> 25: an odd size rounds up at every halving.
    #[test]
    fn odd_sizes() {
        let saved = saved_for_backward(&ModelName::ResNet18.stages(1000), 3, image(97)).expect("97 fits");
        assert_eq!(saved["conv1"], 3 * 64 * 49 * 49 * 4);
        assert_eq!(saved["maxpool"], 3 * 64 * 25 * 25 * (4 + 8));
    }

    /// What is counted under the rules of a layer's storages is what the plan says that the layer saves, in every network; and
    /// no storage is counted twice.
    #[test]
    fn every_saved_byte_has_a_rule() {
        for &model in ModelName::value_variants() {
            let (stages, input) = (model.stages(model.default_classes()), model.input());
            let mut by_layer: BTreeMap<String, u64> = BTreeMap::new();
            for kept in kept_by_rule(&stages, 3, input).expect("its own size fits") {
                assert!(!kept.rule.sentence.is_empty() && !kept.rule.sources.is_empty(), "{:?}", kept.rule);
                if let Some(owner) = kept.allocated_by.clone() {
                    *by_layer.entry(owner).or_default() += kept.counted_bytes();
                }
            }
            assert_eq!(by_layer, saved_for_backward(&stages, 3, input).expect("fits"), "{model}");
        }
    }

    /// Bytes of ResNet-18 by rule, one image of 224: 802,816 elements behind the stem, of which the pool leaves 200,704; a
    /// block's first ReLU and last one have as many as its convolutions' outputs; 4,800 channels are normalised.
    #[test]
    fn bytes_by_rule() {
        let kept = kept_by_rule(&ModelName::ResNet18.stages(1000), 1, image(224)).expect("224 fits");
        let counted =
            |rule: &str| -> u64 { kept.iter().filter(|kept| kept.rule.name() == rule).map(Kept::counted_bytes).sum() };
        assert_eq!(counted("batch norm: input"), 2_483_712 * 4);
        assert_eq!(counted("batch norm: mean") + counted("batch norm: 1/deviation"), 4_800 * 8);
        assert_eq!(counted("relu: result"), 2_308_096 * 4);
        assert_eq!(counted("max pool: indices"), 200_704 * 8);
        assert_eq!(counted("convolution: input"), 200_704 * 4, "all others are results of ReLUs, or the image");
        assert_eq!(counted("linear: input"), 512 * 4);
        assert_eq!(counted("log-softmax: result"), 1000 * 4);
        assert_eq!(counted("loss: result") + counted("negative log-likelihood: total weight"), 8);
    }

    /// The nodes of the rules and the tensors that they save stand in the header that libtorch's own build generated from
    /// `derivatives.yaml`: that of the libtorch that these tests run on.
    #[test]
    fn libtorch_saves_what_the_rules_name() {
        let header = "include/torch/csrc/autograd/generated/Functions.h";
        let libtorch = std::env::var_os("LIBTORCH").map(std::path::PathBuf::from);
        let Some(Ok(header)) = libtorch.map(|folder| std::fs::read_to_string(folder.join(header))) else {
            eprintln!("skipped: LIBTORCH names no folder with {header}");
            return;
        };
        let mut nodes = 0;
        for &model in ModelName::value_variants() {
            let stages = model.stages(model.default_classes());
            for node in kept_by_rule(&stages, 2, model.input()).expect("fits").iter().filter_map(|kept| kept.rule.node)
            {
                let begin = header.find(&format!("struct TORCH_API {} ", node.name));
                let body = begin.and_then(|begin| header[begin..].split("\n};").next());
                let body = body.unwrap_or_else(|| panic!("{model}: libtorch has no {}", node.name));
                assert!(body.contains(&format!("SavedVariable {}_;", node.tensor)), "{model}: {node:?}: {body}");
                nodes += 1;
            }
        }
        assert!(nodes > 1000, "{nodes}");
    }
}
