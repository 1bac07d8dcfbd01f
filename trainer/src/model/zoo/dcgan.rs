//! DCGAN (Radford, Metz, Chintala, 2016), module for module as PyTorch's example has it: a generator that makes an image of
//! 64 x 64 of 100 numbers, and a discriminator that tells made images from real ones.
use crate::model::loss::{LOSS_LAYER, Loss};
use crate::model::op::{Op, Place};
use crate::model::stage::{Chain, Stage};

/// Numbers that an image is made of.
pub const NOISE: u64 = 100;
/// Height and width of the images, in pixels.
pub const SIDE: u64 = 64;
/// Channels of the images that the trainer has both work on.
pub const CHANNELS: u64 = 3;
/// Channels of the generator's last maps before the image, and of the discriminator's first.
const WIDTH: u64 = 64;
/// A leaky ReLU's slope below 0, in percent.
const SLOPE: u64 = 20;

/// Noise `[100, 1, 1]` to an image of so many channels.
pub fn generator(channels: u64) -> Vec<Stage> {
    let mut chain = Chain::default();
    write_generator(&mut chain, channels);
    chain.into_stages()
}

/// An image of so many channels to how sure the network is that it is real: one number from 0 to 1.
pub fn discriminator(channels: u64) -> Vec<Stage> {
    let mut chain = Chain::default();
    write_discriminator(&mut chain, channels);
    chain.into_stages()
}

/// The longest pass: noise to an image, the image to how real it is held to be, and how far from the truth that is.
pub(in crate::model) fn stages() -> Vec<Stage> {
    let mut chain = Chain::default();
    write_generator(&mut chain, CHANNELS);
    write_discriminator(&mut chain, CHANNELS);
    chain.then(LOSS_LAYER, Op::Loss(Loss::BinaryCrossEntropy));
    chain.into_stages()
}

/// The pass of the real images.
pub(in crate::model) fn judging() -> Vec<Stage> {
    let mut chain = Chain::default();
    write_discriminator(&mut chain, CHANNELS);
    chain.then(LOSS_LAYER, Op::Loss(Loss::BinaryCrossEntropy));
    chain.into_stages()
}

fn write_generator(chain: &mut Chain, channels: u64) {
    let mut ops = vec![Op::conv_transpose(NOISE, 8 * WIDTH, 4, 1, 0)];
    for width in [8 * WIDTH, 4 * WIDTH, 2 * WIDTH, WIDTH] {
        let next = if width == WIDTH { channels } else { width / 2 };
        ops.push(Op::BatchNorm { channels: width });
        ops.push(Op::Relu(Place::InPlace));
        ops.push(Op::conv_transpose(width, next, 4, 2, 1));
    }
    ops.push(Op::Tanh);
    chain.sequence("generator.main", 0, ops);
}

fn write_discriminator(chain: &mut Chain, channels: u64) {
    let leaky_relu = Op::LeakyRelu { slope_percent: SLOPE, place: Place::InPlace };
    let mut ops = vec![Op::conv(channels, WIDTH, 4, 2, 1), leaky_relu];
    for width in [WIDTH, 2 * WIDTH, 4 * WIDTH] {
        ops.push(Op::conv(width, 2 * width, 4, 2, 1));
        ops.push(Op::BatchNorm { channels: 2 * width });
        ops.push(leaky_relu);
    }
    ops.push(Op::conv(8 * WIDTH, 1, 4, 1, 0));
    ops.push(Op::Sigmoid);
    chain.sequence("discriminator.main", 0, ops);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::shape::{Shape, shapes};

    fn parameters(stages: &[Stage]) -> u64 {
        stages.iter().map(|stage| stage.op.parameters()).sum()
    }

    /// `sum(p.numel() for p in net.parameters())` of PyTorch's example (examples/dcgan/main.py), for 3 channels and for 1:
    /// 64 x 2 x 4 x 4 less at each end.
    #[test]
    fn parameters_of_the_example() {
        assert_eq!((parameters(&generator(3)), parameters(&discriminator(3))), (3_576_704, 2_765_568));
        assert_eq!((parameters(&generator(1)), parameters(&discriminator(1))), (3_574_656, 2_763_520));
    }

    #[test]
    fn noise_becomes_an_image_and_an_image_one_number() {
        let last = |stages: &[Stage], channels, side| {
            shapes(stages, Shape::Maps { channels, side }).expect("fits").last().copied()
        };
        assert_eq!(last(&generator(3), NOISE, 1), Some(Shape::Maps { channels: 3, side: SIDE }));
        assert_eq!(last(&discriminator(3), 3, SIDE), Some(Shape::Maps { channels: 1, side: 1 }));
        let (first, second) = (generator(3).len(), discriminator(3).len());
        assert_eq!(stages().len(), first + second + 1, "one behind the other, and the loss");
    }
}
