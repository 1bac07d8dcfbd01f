//! Xception (Chollet, 2016), named as the well-known PyTorch port names it. For images of 299 x 299.
use crate::model::op::{Op, Place, Window};
use crate::model::stage::{Chain, Stage};

/// One residual block of separable convolutions.
struct Block {
    from: u64,
    to: u64,
    convolutions: u64,
    stride: u64,
    /// Whether it begins with a ReLU.
    relu_first: bool,
    /// Whether its first convolution makes the channels more, or else its last.
    grow_first: bool,
}

/// The stages for images of 3 channels.
pub(in crate::model) fn stages(classes: u64) -> Vec<Stage> {
    let mut chain = Chain::default();
    for (number, from, to, stride) in [(1, 3, 32, 2), (2, 32, 64, 1)] {
        chain.then(format!("conv{number}"), Op::conv(from, to, 3, stride, 0));
        chain.then(format!("bn{number}"), Op::BatchNorm { channels: to });
        chain.then(format!("relu{number}"), Op::Relu(Place::InPlace));
    }
    let wide =
        |from, to, relu_first, grow_first| Block { from, to, convolutions: 2, stride: 2, relu_first, grow_first };
    block(&mut chain, "block1", &wide(64, 128, false, true));
    block(&mut chain, "block2", &wide(128, 256, true, true));
    block(&mut chain, "block3", &wide(256, 728, true, true));
    for number in 4..=11 {
        let middle = Block { from: 728, to: 728, convolutions: 3, stride: 1, relu_first: true, grow_first: true };
        block(&mut chain, &format!("block{number}"), &middle);
    }
    block(&mut chain, "block12", &wide(728, 1024, true, false));
    for (number, from, to) in [(3, 1024, 1536), (4, 1536, 2048)] {
        separable(&mut chain, &format!("conv{number}"), from, to);
        chain.then(format!("bn{number}"), Op::BatchNorm { channels: to });
        chain.then(format!("relu{number}"), Op::Relu(Place::InPlace));
    }
    chain.then("avgpool", Op::AdaptiveAvgPool { side: 1 });
    chain.then("avgpool", Op::Flatten);
    chain.then("last_linear", Op::Linear { from: 2048, to: classes });
    chain.into_stages()
}

fn block(chain: &mut Chain, name: &str, block: &Block) {
    let before = chain.end();
    let mut rep = Vec::new();
    for number in 0..block.convolutions {
        let last = number + 1 == block.convolutions;
        let from = if number == 0 || (!block.grow_first && last) { block.from } else { block.to };
        let to = if block.grow_first || last { block.to } else { block.from };
        // The first ReLU leaves the block's input to the shortcut.
        match (number, block.relu_first) {
            (0, true) => rep.push(Op::Relu(Place::New)),
            (0, false) => {}
            _ => rep.push(Op::Relu(Place::InPlace)),
        }
        rep.extend([Op::depthwise(from, 1), Op::conv(from, to, 1, 1, 0), Op::BatchNorm { channels: to }]);
    }
    if block.stride != 1 {
        rep.push(Op::MaxPool(Window::new(3, block.stride, 1)));
    }
    chain.sequence(&format!("{name}.rep"), 0, rep);
    let projection = if block.stride != 1 || block.from != block.to {
        vec![
            (format!("{name}.skip"), Op::conv(block.from, block.to, 1, block.stride, 0)),
            (format!("{name}.skipbn"), Op::BatchNorm { channels: block.to }),
        ]
    } else {
        Vec::new()
    };
    chain.residual(name, before, projection, Place::InPlace);
}

/// A depthwise convolution and one over the channels.
fn separable(chain: &mut Chain, name: &str, from: u64, to: u64) {
    chain.then(format!("{name}.conv1"), Op::depthwise(from, 1));
    chain.then(format!("{name}.pointwise"), Op::conv(from, to, 1, 1, 0));
}
