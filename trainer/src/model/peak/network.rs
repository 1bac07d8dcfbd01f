//! What one network allocates and frees in a step: forward, its loss, backward, update.
use alloc_timeline::Category;

use super::layers::{Layers, computed};
use super::live::{Id, Live, Phase};
use crate::model::loss::Loss;
use crate::model::op::{Op, SequenceOp};
use crate::model::plan::{self, F32, Storages};
use crate::model::shape::{self, Misfit, Shape};
use crate::model::stage::{Map, Stage, last_readers, needs_gradient};
use crate::optimizer::Optimizer;

/// A network as the walk sees it.
pub(super) struct Walked<'a> {
    stages: &'a [Stage],
    /// The loss that stands at the end of its list; none is the cross-entropy of classes.
    loss: Option<Loss>,
    storages: Storages,
    /// Bytes of each map.
    map_bytes: Vec<u64>,
    batch: u64,
    /// The number of its first layer.
    first: usize,
}

/// What a forward pass leaves.
pub(super) struct Forward {
    /// What each stage's node keeps.
    kept: Vec<Vec<Id>>,
    /// The last map, held by the program.
    pub(super) output: Id,
}

/// What a loss leaves.
pub(super) struct LossValue {
    /// What its nodes keep.
    kept: Vec<Id>,
    /// The loss itself, held by the program.
    value: Id,
}

/// The gradient of a map.
#[derive(Clone, Copy)]
pub(super) struct Gradient {
    block: Id,
    /// Whether it fills its block: a part of a larger gradient cannot be written over.
    whole: bool,
}

/// Whether what is computed is to be followed by a backward pass.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Graph {
    Made,
    None,
}

/// The gradients of the parameters of one network while they are there; empty when there are none.
#[derive(Default)]
pub(super) struct Gradients(Vec<Id>);

impl<'a> Walked<'a> {
    /// A network whose first layer has the number `first`.
    pub(super) fn new(stages: &'a [Stage], batch: u64, input: Shape, first: usize) -> Result<Walked<'a>, Misfit> {
        let map_bytes = shape::shapes(stages, input)?.iter().map(|shape| batch * shape.bytes()).collect();
        let loss = match stages.last() {
            Some(Stage { op: Op::Loss(loss), .. }) => Some(*loss),
            _ => None,
        };
        let storages = plan::storages(stages, batch, input)?;
        Ok(Walked { stages: computed(stages), loss, storages, map_bytes, batch, first })
    }

    /// Its parameters and buffers, and its optimizer's state, which was made in a step before this one in `phase`.
    pub(super) fn allocate(&self, live: &mut Live, optimizer: Optimizer, phase: Phase) {
        for (layer, stage) in (self.first..).zip(self.stages) {
            let parameters = stage.op.parameters() * F32;
            live.allocate(Phase::INIT, layer, Category::Parameter, parameters);
            live.allocate(Phase::INIT, layer, Category::Buffer, stage.op.buffers() * F32);
            let states = if stage.frozen { 0 } else { optimizer.states() };
            live.allocate(phase, layer, Category::OptimizerState, parameters * states);
        }
    }

    /// The same of a network that learns nothing by itself.
    pub(super) fn allocate_frozen(&self, live: &mut Live) {
        for (layer, stage) in (self.first..).zip(self.stages) {
            let bytes = (stage.op.parameters() + stage.op.buffers()) * F32;
            live.allocate(Phase::INIT, layer, Category::Buffer, bytes);
        }
    }

    /// Bytes of its input.
    pub(super) fn input_bytes(&self) -> u64 {
        self.storages.storages[0].bytes
    }

    /// The forward pass over what lies in `input`, which others hold.
    pub(super) fn forward(&self, live: &mut Live, phase: Phase, input: Id, graph: Graph) -> Forward {
        let storages = &self.storages.storages;
        let last = last_readers(self.stages);
        let mut kept: Vec<Vec<Id>> = vec![Vec::new(); self.stages.len()];
        let mut blocks: Vec<Option<Id>> = vec![None; storages.len()];
        blocks[0] = Some(input);
        for (stage, kept) in kept.iter_mut().enumerate() {
            // Each block of this stage has the stage as its holder until its map and its keepers have taken it over.
            let mut made = Vec::new();
            for (index, storage) in storages.iter().enumerate() {
                if index > 0 && storage.made_by == stage {
                    let block = live.allocate(phase, self.first + stage, Category::Activation, storage.bytes);
                    blocks[index] = Some(block);
                    made.push(block);
                }
                if let (Graph::Made, true, Some(block)) = (graph, storage.is_kept_by(stage), blocks[index]) {
                    live.hold(block);
                    kept.push(block);
                }
            }
            let block_of = |map: usize| self.storages.of_map(map).and_then(|storage| blocks[storage]);
            if let Some(block) = block_of(stage + 1) {
                live.hold(block);
            }
            live.look(phase, self.first + stage);
            made.into_iter().for_each(|block| live.release(block));
            // The last map goes to the program; another that nobody reads goes at once.
            let is_gone = |&map: &usize| last[map] == Some(stage) || (last[map].is_none() && map == stage + 1);
            let there = 1..=(stage + 1).min(self.stages.len() - 1);
            there.filter(is_gone).filter_map(block_of).for_each(|block| live.release(block));
        }
        let output = self.storages.of_map(self.stages.len()).and_then(|storage| blocks[storage]);
        Forward { kept, output: output.unwrap_or(input) }
    }

    /// The loss of what a forward pass left, which is let go. `given` is what the loss reads besides and was made before it:
    /// the first of the storages that the plan has for the loss; the program lets go of it here.
    pub(super) fn loss(
        &self,
        live: &mut Live,
        phase: Phase,
        layers: &Layers,
        forward: &Forward,
        given: &[Id],
    ) -> LossValue {
        let loss = self.stages.len();
        let mut given = given.iter().copied();
        let mut kept = Vec::new();
        let mut value = forward.output;
        let mut made = Vec::new();
        for (index, storage) in self.storages.storages.iter().enumerate() {
            let block = if storage.made_by == loss && index > 0 {
                let make = || live.allocate(phase, layers.loss, Category::Activation, storage.bytes);
                let block = given.next().unwrap_or_else(make);
                made.push(block);
                block
            } else {
                forward.output
            };
            if storage.is_kept_by(loss) {
                live.hold(block);
                if storage.is_held_by_program() {
                    value = block;
                } else {
                    kept.push(block);
                }
            }
        }
        live.look(phase, layers.loss);
        made.into_iter().for_each(|block| live.release(block));
        live.release(forward.output);
        LossValue { kept, value }
    }

    /// The backward pass of the loss: the gradient of the map that it read. The program holds the loss, and the engine the 1
    /// from which it starts, until the whole backward pass has ended: these two are returned for the caller to release.
    pub(super) fn backward_of_loss(
        &self,
        live: &mut Live,
        phase: Phase,
        layers: &Layers,
        loss: &LossValue,
    ) -> (Gradient, [Id; 2]) {
        let temporary = |live: &mut Live, layer: usize, bytes| live.allocate(phase, layer, Category::Activation, bytes);
        let ends = [loss.value, temporary(live, layers.none, F32)];
        let map = self.map_bytes[self.stages.len()];
        // Each operator of the loss makes one gradient of the one before. What the loss keeps is let go behind the last, which
        // is a few bytes too late.
        let gradients = match self.loss {
            None => vec![map, map],
            Some(Loss::BinaryCrossEntropy) => vec![map],
            Some(Loss::Huber) => vec![self.batch * F32, map],
        };
        let mut reached: Option<Id> = None;
        for bytes in gradients {
            let gradient = temporary(live, layers.loss, bytes);
            live.look(phase, layers.loss);
            if let Some(before) = reached.replace(gradient) {
                live.release(before);
            }
        }
        loss.kept.iter().for_each(|&block| live.release(block));
        let block = reached.unwrap_or(ends[1]);
        (Gradient { block, whole: true }, ends)
    }

    /// The backward pass through the network, from the gradient of its last map. Leaves the gradients of the parameters in
    /// `gradients`, to which they are added where there are some. Returns the gradient of the input, if it is `wanted`.
    pub(super) fn backward(
        &self,
        live: &mut Live,
        phase: Phase,
        forward: &Forward,
        reached: Gradient,
        gradients: &mut Gradients,
        wanted: bool,
    ) -> Option<Gradient> {
        let needs_gradient = needs_gradient(self.stages, wanted);
        let adds = !gradients.0.is_empty();
        let mut of_maps: Vec<Option<Gradient>> = vec![None; self.stages.len() + 1];
        of_maps[self.stages.len()] = Some(reached);
        for (index, stage) in self.stages.iter().enumerate().rev() {
            let Some(reached) = of_maps[index + 1].take() else { continue };
            let layer = self.first + index;
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
                    _ => Gradient {
                        block: live.allocate(phase, layer, Category::Activation, self.map_bytes[map.0]),
                        whole: true,
                    },
                };
                made.push((map, gradient));
            }
            let bytes = if stage.frozen { 0 } else { stage.op.parameters() * F32 };
            if adds {
                // Added in place to what is there, then let go.
                let block = live.allocate(phase, layer, Category::Activation, bytes);
                live.look(phase, layer);
                live.release(block);
            } else {
                gradients.0.push(live.allocate(phase, layer, Category::Gradient, bytes));
                live.look(phase, layer);
            }
            live.release(reached.block);
            forward.kept[index].iter().for_each(|&block| live.release(block));
            for (map, gradient) in made {
                let sum = match of_maps[map.0] {
                    None => gradient,
                    Some(before) if before.whole && live.is_held_once(before.block) => {
                        live.release(gradient.block);
                        before
                    }
                    Some(before) => {
                        let block = live.allocate(phase, layer, Category::Activation, self.map_bytes[map.0]);
                        live.look(phase, layer);
                        live.release(before.block);
                        live.release(gradient.block);
                        Gradient { block, whole: true }
                    }
                };
                of_maps[map.0] = Some(sum);
            }
        }
        of_maps[0].take()
    }

    /// The optimizer goes from parameter to parameter; the largest one's temporaries are the most. They outlive the operator
    /// that makes them, so a run counts them as state while they live. The gradients are let go behind it.
    pub(super) fn update(&self, live: &mut Live, phase: Phase, optimizer: Optimizer, gradients: &mut Gradients) {
        let learning = self.stages.iter().enumerate().filter(|(_, stage)| stage.learns());
        let largest = learning.max_by_key(|(_, stage)| largest_tensor(stage.op));
        if let Some((index, stage)) = largest {
            let bytes = largest_tensor(stage.op) * F32 * optimizer.temporaries();
            let block = live.allocate(phase, self.first + index, Category::OptimizerState, bytes);
            live.look(phase, self.first + index);
            live.release(block);
        }
        gradients.let_go(live);
    }
}

impl Gradients {
    /// Frees them.
    pub(super) fn let_go(&mut self, live: &mut Live) {
        self.0.drain(..).for_each(|block| live.release(block));
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
