//! MobileNetV2 at width 1.0, module for module as torchvision has it (Sandler et al., 2018).
use crate::model::op::{Op, Place};
use crate::model::stage::{Chain, Stage};

/// How much wider a block is inside, its channels, how often it stands, and its first stride: table 2 of the paper.
const BLOCKS: [(u64, u64, u64, u64); 7] =
    [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)];

/// The stages for images of 3 channels.
pub(in crate::model) fn stages(classes: u64) -> Vec<Stage> {
    let mut chain = Chain::default();
    chain.sequence("features.0", 0, normalised(Op::conv(3, 32, 3, 2, 1), 32));
    let (mut from, mut index) = (32, 1);
    for (expansion, to, count, stride) in BLOCKS {
        for repeat in 0..count {
            let stride = if repeat == 0 { stride } else { 1 };
            block(&mut chain, &format!("features.{index}"), from, to, expansion, stride);
            (from, index) = (to, index + 1);
        }
    }
    chain.sequence(&format!("features.{index}"), 0, normalised(Op::conv(from, 1280, 1, 1, 0), 1280));
    chain.then("avgpool", Op::AdaptiveAvgPool { side: 1 });
    chain.then("avgpool", Op::Flatten);
    chain.then("classifier.0", Op::Dropout { percent: 20, place: Place::New });
    chain.then("classifier.1", Op::Linear { from: 1280, to: classes });
    chain.into_stages()
}

/// An inverted residual: wide inside, and a sum around it where it changes no shape.
fn block(chain: &mut Chain, name: &str, from: u64, to: u64, expansion: u64, stride: u64) {
    let (before, inside) = (chain.end(), from * expansion);
    let mut part = 0;
    if expansion != 1 {
        chain.sequence(&format!("{name}.conv.{part}"), 0, normalised(Op::conv(from, inside, 1, 1, 0), inside));
        part += 1;
    }
    chain.sequence(&format!("{name}.conv.{part}"), 0, normalised(Op::depthwise(inside, stride), inside));
    let projection = [Op::conv(inside, to, 1, 1, 0), Op::BatchNorm { channels: to }];
    chain.sequence(&format!("{name}.conv"), part + 1, projection);
    if stride == 1 && from == to {
        chain.residual(name, before, Vec::new(), Place::New);
    }
}

/// A convolution that leaves so many channels, with batch norm and ReLU6.
fn normalised(convolution: Op, channels: u64) -> [Op; 3] {
    [convolution, Op::BatchNorm { channels }, Op::Relu6]
}
