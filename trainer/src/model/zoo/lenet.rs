//! LeNet-5 (LeCun et al., 1998) as it is trained today: ReLU and max pooling in place of squashed sums and trained
//! subsampling. For grey images of 32 x 32.
use crate::model::op::{Op, Place, Window};
use crate::model::stage::{Chain, Stage};

/// The stages for images of one channel.
pub(in crate::model) fn stages(classes: u64) -> Vec<Stage> {
    let mut chain = Chain::default();
    for (name, from, to) in [("conv1", 1, 6), ("conv2", 6, 16)] {
        chain.then(name, Op::biased_conv(from, to, 5, 1, 0));
        chain.then("relu", Op::Relu(Place::InPlace));
        chain.then("pool", Op::MaxPool(Window::new(2, 2, 0)));
    }
    chain.then("flatten", Op::Flatten);
    for (name, from, to) in [("fc1", 16 * 5 * 5, 120), ("fc2", 120, 84)] {
        chain.then(name, Op::Linear { from, to });
        chain.then("relu", Op::Relu(Place::InPlace));
    }
    chain.then("fc3", Op::Linear { from: 84, to: classes });
    chain.into_stages()
}
