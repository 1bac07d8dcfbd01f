//! VGG-16 and VGG-19 without batch norm, as torchvision has them (Simonyan and Zisserman, 2014).
use crate::model::op::{Op, Place, Window};
use crate::model::stage::{Chain, Stage};

/// The stages for images of 3 channels. `convolutions` says how many each of the five groups has: 2, 2, 3, 3, 3 in VGG-16.
pub(in crate::model) fn stages(convolutions: [u64; 5], classes: u64) -> Vec<Stage> {
    let mut chain = Chain::default();
    let (mut features, mut from) = (Vec::new(), 3);
    for (count, to) in convolutions.into_iter().zip([64, 128, 256, 512, 512]) {
        for _ in 0..count {
            features.extend([Op::biased_conv(from, to, 3, 1, 1), Op::Relu(Place::InPlace)]);
            from = to;
        }
        features.push(Op::MaxPool(Window::new(2, 2, 0)));
    }
    chain.sequence("features", 0, features);
    chain.then("avgpool", Op::AdaptiveAvgPool { side: 7 });
    chain.then("avgpool", Op::Flatten);
    let dropout = Op::Dropout { percent: 50, place: Place::New };
    let classifier = [
        Op::Linear { from: 512 * 7 * 7, to: 4096 },
        Op::Relu(Place::InPlace),
        dropout,
        Op::Linear { from: 4096, to: 4096 },
        Op::Relu(Place::InPlace),
        dropout,
        Op::Linear { from: 4096, to: classes },
    ];
    chain.sequence("classifier", 0, classifier);
    chain.into_stages()
}
