//! The walk through a step: what each stage allocates and frees, forward and backward.
use alloc_timeline::Category;

use super::live::{Id, Live, Phase};
use crate::model::op::{Op, SequenceOp};
use crate::model::plan::{self, F32, Storages};
use crate::model::shape::{self, Misfit, Shape};
use crate::model::stage::{Map, Stage, last_readers};
use crate::optimizer::Optimizer;

/// All that lives in one step that is not the first.
pub(super) fn step(stages: &[Stage], batch: u64, input: Shape, optimizer: Optimizer) -> Result<Live, Misfit> {
    let shapes = shape::shapes(stages, input)?;
    let storages = plan::storages(stages, batch, input)?;
    // A loss that stands in the list is computed behind its last stage, as the cross-entropy of the others is.
    let stages = match stages.split_last() {
        Some((Stage { op: Op::Loss(_), .. }, computed)) => computed,
        _ => stages,
    };
    let mut live = Live::default();
    for (index, stage) in stages.iter().enumerate() {
        let parameters = stage.op.parameters() * F32;
        live.allocate(Phase::Init, index, Category::Parameter, parameters);
        live.allocate(Phase::Init, index, Category::Buffer, stage.op.buffers() * F32);
        live.allocate(Phase::Optimizer, index, Category::OptimizerState, parameters * optimizer.states());
    }
    live.allocate(Phase::Data, no_layer(stages), Category::Input, plan::label_bytes(stages, batch, input)?);
    let kept = forward(&mut live, stages, &storages);
    let map_bytes: Vec<u64> = shapes.iter().map(|shape| batch * shape.bytes()).collect();
    backward(&mut live, stages, &kept, &map_bytes);
    update(&mut live, stages, optimizer);
    Ok(live)
}

/// The forward pass and the loss. Returns the blocks that each stage's node keeps, the loss's behind the last.
fn forward(live: &mut Live, stages: &[Stage], storages: &Storages) -> Vec<Vec<Id>> {
    let loss = stages.len();
    let last = last_readers(stages);
    let mut kept: Vec<Vec<Id>> = vec![Vec::new(); stages.len() + 1];
    // The block of each storage; the images are held by the program to the step's end.
    let mut blocks: Vec<Option<Id>> = vec![None; storages.storages.len()];
    blocks[0] = Some(live.allocate(Phase::Data, no_layer(stages), Category::Input, storages.storages[0].bytes));
    for (stage, kept) in kept.iter_mut().enumerate() {
        let phase = if stage == loss { Phase::Loss } else { Phase::Forward };
        // Each block of this stage has the stage as its holder until its map and its keepers have taken it over.
        let mut made = Vec::new();
        for (index, storage) in storages.storages.iter().enumerate() {
            if index > 0 && storage.made_by == stage {
                let block = live.allocate(phase, stage, Category::Activation, storage.bytes);
                blocks[index] = Some(block);
                made.push(block);
            }
            if let (true, Some(block)) = (storage.kept_by.contains(&stage), blocks[index]) {
                live.hold(block);
                kept.push(block);
            }
        }
        let block_of = |map: usize| storages.of_map(map).and_then(|storage| blocks[storage]);
        if let Some(block) = block_of(stage + 1) {
            live.hold(block);
        }
        live.look(phase, stage);
        made.into_iter().for_each(|block| live.release(block));
        // The loss reads the last map; another that nobody reads goes at once.
        let is_gone = |&map: &usize| match last[map] {
            Some(last) => last == stage,
            None if map == loss => stage == loss,
            None => map == stage + 1,
        };
        let there = 1..=(stage + 1).min(loss);
        there.filter(is_gone).filter_map(block_of).for_each(|block| live.release(block));
    }
    kept
}

/// The gradient of a map.
#[derive(Clone, Copy)]
struct Gradient {
    block: Id,
    /// Whether it fills its block: a part of a larger gradient cannot be written over.
    whole: bool,
}

/// The backward pass. `kept` is what each stage's node keeps, `map_bytes` the size of each map.
fn backward(live: &mut Live, stages: &[Stage], kept: &[Vec<Id>], map_bytes: &[u64]) {
    let loss = stages.len();
    let needs_gradient = needs_gradient(stages);
    let mut gradients: Vec<Option<Gradient>> = vec![None; stages.len() + 1];
    let temporary =
        |live: &mut Live, stage: usize, bytes| live.allocate(Phase::Backward, stage, Category::Activation, bytes);
    // The program holds the loss, the second of what the loss left, and the engine the 1 that it starts from.
    let ends = [kept[loss][1], temporary(live, no_layer(stages), F32)];
    live.hold(ends[0]);
    // nll_loss gives the gradient of the log-probabilities, log_softmax that of the logits. What the loss keeps is let go
    // behind both, which is 4 bytes too late.
    let log_probabilities = temporary(live, loss, map_bytes[loss]);
    live.look(Phase::Backward, loss);
    let logits = temporary(live, loss, map_bytes[loss]);
    live.look(Phase::Backward, loss);
    live.release(log_probabilities);
    kept[loss].iter().for_each(|&block| live.release(block));
    gradients[loss] = Some(Gradient { block: logits, whole: true });

    for (index, stage) in stages.iter().enumerate().rev() {
        let Some(reached) = gradients[index + 1].take() else { continue };
        let mut made: Vec<(Map, Gradient)> = Vec::new();
        for &map in stage.reads.iter().filter(|map| needs_gradient[map.0]) {
            let gradient = match stage.op {
                // Transposed copies are undone by views.
                Op::Add(_)
                | Op::Flatten
                | Op::Sequence(
                    SequenceOp::AddEmbedding { .. } | SequenceOp::SplitHeads { .. } | SequenceOp::MergeHeads,
                ) => {
                    live.hold(reached.block);
                    reached
                }
                Op::Concat | Op::Sequence(SequenceOp::ConcatFeatures) => {
                    live.hold(reached.block);
                    Gradient { whole: false, ..reached }
                }
                _ => Gradient { block: temporary(live, index, map_bytes[map.0]), whole: true },
            };
            made.push((map, gradient));
        }
        live.allocate(Phase::Backward, index, Category::Gradient, stage.op.parameters() * F32);
        live.look(Phase::Backward, index);
        live.release(reached.block);
        kept[index].iter().for_each(|&block| live.release(block));
        for (map, gradient) in made {
            let sum = match gradients[map.0] {
                None => gradient,
                Some(before) if before.whole && live.is_held_once(before.block) => {
                    live.release(gradient.block);
                    before
                }
                Some(before) => {
                    let block = temporary(live, index, map_bytes[map.0]);
                    live.look(Phase::Backward, index);
                    live.release(before.block);
                    live.release(gradient.block);
                    Gradient { block, whole: true }
                }
            };
            gradients[map.0] = Some(sum);
        }
    }
    ends.into_iter().for_each(|block| live.release(block));
}

/// The owner of what is made in no layer: one behind the loss.
fn no_layer(stages: &[Stage]) -> usize {
    stages.len() + 1
}

/// For each map whether the backward pass goes through it: the images need no gradient.
fn needs_gradient(stages: &[Stage]) -> Vec<bool> {
    let mut needs = vec![false];
    for stage in stages {
        needs.push(stage.op.parameters() > 0 || stage.reads.iter().any(|map| needs[map.0]));
    }
    needs
}

/// The optimizer goes from parameter to parameter; the largest one's temporaries are the most. They outlive the operator
/// that makes them, so a run counts them as state while they live.
fn update(live: &mut Live, stages: &[Stage], optimizer: Optimizer) {
    let largest = stages.iter().enumerate().max_by_key(|(_, stage)| largest_tensor(stage.op));
    if let Some((index, stage)) = largest {
        let bytes = largest_tensor(stage.op) * F32 * optimizer.temporaries();
        let block = live.allocate(Phase::Optimizer, index, Category::OptimizerState, bytes);
        live.look(Phase::Optimizer, index);
        live.release(block);
    }
}

/// Elements of the largest of a stage's parameters.
fn largest_tensor(op: Op) -> u64 {
    match op {
        Op::Conv(conv) => op.parameters() - if conv.bias { conv.to } else { 0 },
        Op::Linear { from, to } => from * to,
        Op::BatchNorm { channels } => channels,
        _ => op.parameters(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::op::Place;

    /// One image of 1 x 2 x 2: maps of 16 bytes, and 1x1 convolutions with a weight of 4. There at every instant are two
    /// weights and momenta, 16 bytes of image and 4 labels of 8: 64 bytes.
    fn instants(stages: &[(Op, &[usize])]) -> Vec<u64> {
        let stage = |(index, (op, reads)): (usize, &(Op, &[usize]))| Stage {
            name: index.to_string(),
            op: *op,
            reads: reads.iter().map(|&map| Map(map)).collect(),
        };
        let stages: Vec<Stage> = stages.iter().enumerate().map(stage).collect();
        let image = Shape::Maps { channels: 1, side: 2 };
        let live = step(&stages, 1, image, Optimizer::default()).expect("fits");
        live.instants().iter().map(|instant| instant.bytes - 64).collect()
    }

    fn conv() -> Op {
        Op::conv(1, 1, 1, 1, 0)
    }

    /// Forward: a map each; the first goes behind the ReLU, which keeps its own. The loss makes 16 + 4 + 4; then the logits go.
    /// Backward, with the loss and the 1 it starts from (8): the two gradients of the loss, beside all it keeps. Each
    /// convolution leaves 4, the first needs no gradient of the image. In the end there are the two gradients.
    #[test]
    fn a_chain() {
        let found = instants(&[(conv(), &[0]), (Op::Relu(Place::New), &[1]), (conv(), &[2])]);
        assert_eq!(found, [16, 32, 32, 32 + 24, 60, 76, 60, 60, 32, 8]);
    }

    /// The sum hands its gradient to both that it read. The second convolution's is added into it, which takes no new map.
    #[test]
    fn a_shortcut() {
        let found = instants(&[(conv(), &[0]), (conv(), &[1]), (Op::Add(Place::InPlace), &[2, 1])]);
        assert_eq!(found, [16, 32, 32, 32 + 24, 60, 76, 40, 60, 32, 8]);
    }

    /// A concatenation hands out parts of its gradient, of 32 bytes, which cannot be written over: their sum is a map of its own.
    #[test]
    fn parts_of_a_gradient_are_not_written_over() {
        let found = instants(&[(conv(), &[0]), (conv(), &[1]), (Op::Concat, &[1, 2])]);
        // Behind the sum of 48 + 40: one part waits, which holds all 32; the second convolution makes 16 and 4, and its map of
        // 16 goes; then the sum takes 16, and both of its parts go.
        assert_eq!(found, [16, 32, 64, 48 + 40, 92, 124, 56, 56 + 20, 56 + 20 - 16 + 16, 32, 8]);
    }
}
