//! The walk through a step that has one network and one pass, as most have.
use alloc_timeline::Category;

use super::layers::Layers;
use super::live::{Live, Phase};
use super::network::{Gradients, Graph, Walked};
use crate::model::plan;
use crate::model::shape::{Misfit, Shape};
use crate::model::stage::Stage;
use crate::optimizer::Optimizer;

/// All that lives in one step that is not the first, and the layers.
pub(super) fn step(stages: &[Stage], batch: u64, input: Shape, optimizer: Optimizer) -> Result<(Live, Layers), Misfit> {
    let mut live = Live::default();
    let layers = Layers::of(&[stages]);
    let network = Walked::new(stages, batch, input, 0)?;
    network.allocate(&mut live, optimizer, Phase::OPTIMIZER);
    // The images and labels are held by the program to the step's end.
    live.allocate(Phase::DATA, layers.none, Category::Input, plan::label_bytes(stages, batch, input)?);
    let inputs = live.allocate(Phase::DATA, layers.none, Category::Input, network.input_bytes());
    let forward = network.forward(&mut live, Phase::FORWARD, inputs, Graph::Made);
    let loss = network.loss(&mut live, Phase::LOSS, &layers, &forward, &[]);
    let mut gradients = Gradients::default();
    let (reached, ends) = network.backward_of_loss(&mut live, Phase::BACKWARD, &layers, &loss);
    network.backward(&mut live, Phase::BACKWARD, &forward, reached, &mut gradients, false);
    ends.into_iter().for_each(|block| live.release(block));
    network.update(&mut live, Phase::OPTIMIZER, optimizer, &mut gradients);
    Ok((live, layers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::op::{Op, Place};
    use crate::model::stage::Map;

    /// One image of 1 x 2 x 2: maps of 16 bytes, and 1x1 convolutions with a weight of 4. There at every instant are two
    /// weights and momenta, 16 bytes of image and 4 labels of 8: 64 bytes.
    fn instants(stages: &[(Op, &[usize])]) -> Vec<u64> {
        let stage = |(index, (op, reads)): (usize, &(Op, &[usize]))| Stage {
            name: index.to_string(),
            op: *op,
            reads: reads.iter().map(|&map| Map(map)).collect(),
            frozen: false,
        };
        let stages: Vec<Stage> = stages.iter().enumerate().map(stage).collect();
        let image = Shape::Maps { channels: 1, side: 2 };
        let (live, _) = step(&stages, 1, image, Optimizer::default()).expect("fits");
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
