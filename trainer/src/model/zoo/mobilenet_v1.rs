//! MobileNetV1 (Howard et al., 2017), named as the well-known PyTorch port names it.
//!
//! The activation is plain ReLU, which keeps its result for the backward pass. ReLU6 would be a hardtanh, which
//! keeps its input: half as many bytes again.
use crate::model::op::{Op, Place};
use crate::model::stage::{Chain, Stage};

/// Channels and stride of the 13 depthwise-separable blocks, at width 1.0.
const BLOCKS: [(u64, u64); 13] = [
    (64, 1),
    (128, 2),
    (128, 1),
    (256, 2),
    (256, 1),
    (512, 2),
    (512, 1),
    (512, 1),
    (512, 1),
    (512, 1),
    (512, 1),
    (1024, 2),
    (1024, 1),
];

/// The stages for images of 3 channels. The paper's width multiplier is `quarters` / 4.
pub(in crate::model) fn stages(quarters: u64, classes: u64) -> Vec<Stage> {
    let width = |channels: u64| channels * quarters / 4;
    let mut chain = Chain::default();
    let mut from = width(32);
    chain.sequence("model.0", 0, normalised(Op::conv(3, from, 3, 2, 1), from));
    for (index, (to, stride)) in BLOCKS.into_iter().enumerate() {
        let (name, to) = (format!("model.{}", index + 1), width(to));
        let ops = [normalised(Op::depthwise(from, stride), from), normalised(Op::conv(from, to, 1, 1, 0), to)];
        chain.sequence(&name, 0, ops.into_iter().flatten());
        from = to;
    }
    chain.then("model.14", Op::AdaptiveAvgPool { side: 1 });
    chain.then("model.14", Op::Flatten);
    chain.then("fc", Op::Linear { from, to: classes });
    chain.into_stages()
}

/// A convolution that leaves so many channels, with batch norm and ReLU.
fn normalised(convolution: Op, channels: u64) -> [Op; 3] {
    [convolution, Op::BatchNorm { channels }, Op::Relu(Place::InPlace)]
}
