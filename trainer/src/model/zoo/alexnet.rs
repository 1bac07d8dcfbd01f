//! AlexNet, module for module as torchvision has it (Krizhevsky, 2014, "One weird trick").
use crate::model::op::{Op, Place, Window};
use crate::model::stage::{Chain, Stage};

/// The stages for images of 3 channels.
pub(in crate::model) fn stages(classes: u64) -> Vec<Stage> {
    let mut chain = Chain::default();
    let pool = Op::MaxPool(Window::new(3, 2, 0));
    let features = [
        Op::biased_conv(3, 64, 11, 4, 2),
        Op::Relu(Place::InPlace),
        pool,
        Op::biased_conv(64, 192, 5, 1, 2),
        Op::Relu(Place::InPlace),
        pool,
        Op::biased_conv(192, 384, 3, 1, 1),
        Op::Relu(Place::InPlace),
        Op::biased_conv(384, 256, 3, 1, 1),
        Op::Relu(Place::InPlace),
        Op::biased_conv(256, 256, 3, 1, 1),
        Op::Relu(Place::InPlace),
        pool,
    ];
    chain.sequence("features", 0, features);
    chain.then("avgpool", Op::AdaptiveAvgPool { side: 6 });
    chain.then("avgpool", Op::Flatten);
    let dropout = Op::Dropout { percent: 50, place: Place::New };
    let classifier = [
        dropout,
        Op::Linear { from: 256 * 6 * 6, to: 4096 },
        Op::Relu(Place::InPlace),
        dropout,
        Op::Linear { from: 4096, to: 4096 },
        Op::Relu(Place::InPlace),
        Op::Linear { from: 4096, to: classes },
    ];
    chain.sequence("classifier", 0, classifier);
    chain.into_stages()
}
