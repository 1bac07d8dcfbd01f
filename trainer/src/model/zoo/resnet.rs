//! ResNets, module for module as torchvision has them (He et al., 2015, with 1x1 shortcuts; version 1.5: the stride of a
//! bottleneck is that of its 3x3 convolution).
use crate::model::op::{Op, Place, Window};
use crate::model::stage::{Chain, Stage};

/// What a residual block consists of.
#[derive(Clone, Copy)]
pub(in crate::model) enum Block {
    /// Two 3x3 convolutions.
    Basic,
    /// 1x1, 3x3 and 1x1, which leaves four times as many channels.
    Bottleneck,
}

/// The stages for images of 3 channels, with so many blocks in each of the four groups.
pub(in crate::model) fn stages(block: Block, blocks: [u64; 4], classes: u64) -> Vec<Stage> {
    let mut chain = Chain::default();
    chain.then("conv1", Op::conv(3, 64, 7, 2, 3));
    chain.then("bn1", Op::BatchNorm { channels: 64 });
    chain.then("relu", Op::Relu(Place::InPlace));
    chain.then("maxpool", Op::MaxPool(Window::new(3, 2, 1)));
    let mut from = 64;
    for (group, (count, width)) in (1..).zip(blocks.into_iter().zip([64, 128, 256, 512])) {
        for index in 0..count {
            let stride = if group > 1 && index == 0 { 2 } else { 1 };
            from = residual(&mut chain, &format!("layer{group}.{index}"), block, from, width, stride);
        }
    }
    chain.then("avgpool", Op::AdaptiveAvgPool { side: 1 });
    chain.then("avgpool", Op::Flatten);
    chain.then("fc", Op::Linear { from, to: classes });
    chain.into_stages()
}

/// One block around which the shortcut goes, and the channels that it leaves. The in-place sum has no module of its own and
/// runs as the block.
fn residual(chain: &mut Chain, name: &str, block: Block, from: u64, width: u64, stride: u64) -> u64 {
    let before = chain.end();
    let convolutions = match block {
        Block::Basic => vec![Op::conv(from, width, 3, stride, 1), Op::conv(width, width, 3, 1, 1)],
        Block::Bottleneck => vec![
            Op::conv(from, width, 1, 1, 0),
            Op::conv(width, width, 3, stride, 1),
            Op::conv(width, 4 * width, 1, 1, 0),
        ],
    };
    let (last, to) = match block {
        Block::Basic => (2, width),
        Block::Bottleneck => (3, 4 * width),
    };
    for (number, convolution) in (1..).zip(convolutions) {
        let channels = if number == last { to } else { width };
        chain.then(format!("{name}.conv{number}"), convolution);
        chain.then(format!("{name}.bn{number}"), Op::BatchNorm { channels });
        if number != last {
            chain.then(format!("{name}.relu"), Op::Relu(Place::InPlace));
        }
    }
    let projection = if stride != 1 || from != to {
        vec![
            (format!("{name}.downsample.0"), Op::conv(from, to, 1, stride, 0)),
            (format!("{name}.downsample.1"), Op::BatchNorm { channels: to }),
        ]
    } else {
        Vec::new()
    };
    chain.residual(name, before, projection, Place::InPlace);
    chain.then(format!("{name}.relu"), Op::Relu(Place::InPlace));
    to
}
