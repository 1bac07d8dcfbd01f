//! The walk through a step of DCGAN: three passes and two updates, in the order of `run/dcgan/train.rs`.
use alloc_timeline::Category;

use super::layers::Layers;
use super::live::{Id, Live, Phase};
use super::network::{Gradient, Gradients, Graph, Walked};
use crate::model::dcgan;
use crate::model::plan::F32;
use crate::model::shape::{Misfit, Shape};
use crate::optimizer::Optimizer;

/// The phases of a pass of the discriminator.
struct Pass {
    forward: Phase,
    loss: Phase,
    backward: Phase,
    /// Whether the backward pass goes on behind the images, through the network that made them.
    goes_on: bool,
}

const REAL: Pass = Pass {
    forward: Phase("discriminator/real/forward"),
    loss: Phase("discriminator/real/loss"),
    backward: Phase("discriminator/real/backward"),
    goes_on: false,
};
const FAKE: Pass = Pass {
    forward: Phase("discriminator/fake/forward"),
    loss: Phase("discriminator/fake/loss"),
    backward: Phase("discriminator/fake/backward"),
    goes_on: false,
};
const GENERATOR: Pass = Pass {
    forward: Phase("generator/forward"),
    loss: Phase("generator/loss"),
    backward: Phase("generator/backward"),
    goes_on: true,
};
const UPDATE_DISCRIMINATOR: Phase = Phase("discriminator/optimizer");
const UPDATE_GENERATOR: Phase = Phase("generator/optimizer");

/// All that lives in one step that is not the first, and the layers.
pub(super) fn step(batch: u64, optimizer: Optimizer) -> Result<(Live, Layers), Misfit> {
    let (generator, judging) = (dcgan::generator(dcgan::CHANNELS), dcgan::judging());
    let layers = Layers::of(&[&generator, &judging]);
    let noise = Shape::Maps { channels: dcgan::NOISE, side: 1 };
    let image = Shape::Maps { channels: dcgan::CHANNELS, side: dcgan::SIDE };
    let first = generator.len();
    let generator = Walked::new(&generator, batch, noise, 0)?;
    let discriminator = Walked::new(&judging, batch, image, first)?;

    let mut live = Live::default();
    generator.allocate(&mut live, optimizer, UPDATE_GENERATOR);
    discriminator.allocate(&mut live, optimizer, UPDATE_DISCRIMINATOR);
    let mut of_generator = Gradients::default();
    let mut of_discriminator = Gradients::default();
    let data = |live: &mut Live, bytes| live.allocate(Phase::DATA, layers.none, Category::Input, bytes);
    let real = data(&mut live, discriminator.input_bytes());
    let noise = data(&mut live, generator.input_bytes());
    // A label for each real image and one for each made image, to the step's end.
    data(&mut live, 2 * batch * F32);

    let release = |live: &mut Live, ends: [Id; 2]| ends.into_iter().for_each(|block| live.release(block));
    let (_, ends) = judge(&discriminator, &mut live, &REAL, &layers, real, &mut of_discriminator);
    release(&mut live, ends);
    let made = generator.forward(&mut live, GENERATOR.forward, noise, Graph::Made);
    live.release(noise);
    live.hold(made.output);
    let (_, ends) = judge(&discriminator, &mut live, &FAKE, &layers, made.output, &mut of_discriminator);
    release(&mut live, ends);
    discriminator.update(&mut live, UPDATE_DISCRIMINATOR, optimizer, &mut of_discriminator);
    let (reached, ends) = judge(&discriminator, &mut live, &GENERATOR, &layers, made.output, &mut of_discriminator);
    if let Some(reached) = reached {
        generator.backward(&mut live, GENERATOR.backward, &made, reached, &mut of_generator, false);
    }
    release(&mut live, ends);
    generator.update(&mut live, UPDATE_GENERATOR, optimizer, &mut of_generator);
    of_discriminator.let_go(&mut live);
    Ok((live, layers))
}

/// A pass of the discriminator over `images`, of which one holder lets go behind the forward pass. Returns the gradient of the
/// images where the pass goes on behind them, and what the caller releases when the backward pass has ended.
fn judge(
    discriminator: &Walked<'_>,
    live: &mut Live,
    pass: &Pass,
    layers: &Layers,
    images: Id,
    gradients: &mut Gradients,
) -> (Option<Gradient>, [Id; 2]) {
    let forward = discriminator.forward(live, pass.forward, images, Graph::Made);
    live.release(images);
    let loss = discriminator.loss(live, pass.loss, layers, &forward, &[]);
    let (reached, ends) = discriminator.backward_of_loss(live, pass.backward, layers, &loss);
    (discriminator.backward(live, pass.backward, &forward, reached, gradients, pass.goes_on), ends)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::optimizer::OptimizerName;

    /// With three images Adam has the peak. There are 6,342,272 parameters of 4 bytes, as many gradients and twice as many states,
    /// 1,856 x 2 running statistics, six labels, and two temporaries of the generator's largest convolution, 512 x 256 x 4 x 4.
    #[test]
    fn the_update_of_the_generator_has_the_peak() {
        let adam = Optimizer { name: OptimizerName::Adam, ..Optimizer::default() };
        let (live, layers) = step(3, adam).expect("its own size");
        let peak = live.instants().iter().max_by_key(|instant| instant.bytes).expect("many instants");
        assert_eq!(peak.bytes, 4 * 6_342_272 * 4 + 1_856 * 2 * 4 + 6 * 4 + 2 * 512 * 256 * 4 * 4 * 4);
        assert_eq!((peak.phase, layers.name(peak.layer)), (UPDATE_GENERATOR, "generator.main.3"));
    }
}
