//! InceptionV1 (GoogLeNet, Szegedy et al., 2014), module for module as torchvision has it: with batch norm, with 3x3
//! where the paper has 5x5, and without the auxiliary classifiers.
use crate::model::op::{Op, Place, Window};
use crate::model::stage::{Chain, Map, Stage};

/// Channels of an inception block: in; 1x1; 3x3 reduced and full; "5x5" reduced and full; behind the pool.
type Widths = [u64; 7];

/// The blocks by name, with the pools between them.
const BLOCKS: [(&str, Widths); 9] = [
    ("inception3a", [192, 64, 96, 128, 16, 32, 32]),
    ("inception3b", [256, 128, 128, 192, 32, 96, 64]),
    ("inception4a", [480, 192, 96, 208, 16, 48, 64]),
    ("inception4b", [512, 160, 112, 224, 24, 64, 64]),
    ("inception4c", [512, 128, 128, 256, 24, 64, 64]),
    ("inception4d", [512, 112, 144, 288, 32, 64, 64]),
    ("inception4e", [528, 256, 160, 320, 32, 128, 128]),
    ("inception5a", [832, 256, 160, 320, 32, 128, 128]),
    ("inception5b", [832, 384, 192, 384, 48, 128, 128]),
];

/// The stages for images of 3 channels.
pub(in crate::model) fn stages(classes: u64) -> Vec<Stage> {
    let mut chain = Chain::default();
    let pool = Op::MaxPool(Window::ceil(3, 2, 0));
    convolution(&mut chain, "conv1", Op::conv(3, 64, 7, 2, 3), 64);
    chain.then("maxpool1", pool);
    convolution(&mut chain, "conv2", Op::conv(64, 64, 1, 1, 0), 64);
    convolution(&mut chain, "conv3", Op::conv(64, 192, 3, 1, 1), 192);
    chain.then("maxpool2", pool);
    for (name, widths) in BLOCKS {
        inception(&mut chain, name, widths);
        match name {
            "inception3b" => chain.then("maxpool3", pool),
            "inception4e" => chain.then("maxpool4", Op::MaxPool(Window::ceil(2, 2, 0))),
            _ => chain.end(),
        };
    }
    chain.then("avgpool", Op::AdaptiveAvgPool { side: 1 });
    chain.then("avgpool", Op::Flatten);
    chain.then("dropout", Op::Dropout { percent: 20, place: Place::New });
    chain.then("fc", Op::Linear { from: 1024, to: classes });
    chain.into_stages()
}

/// Four branches side by side.
fn inception(chain: &mut Chain, name: &str, widths: Widths) {
    let [from, one, three_reduced, three, five_reduced, five, pooled] = widths;
    let before = chain.end();
    let first = convolution(chain, &format!("{name}.branch1"), Op::conv(from, one, 1, 1, 0), one);
    let mut branches = vec![first];
    for (branch, reduced, to) in [("branch2", three_reduced, three), ("branch3", five_reduced, five)] {
        chain.branch(before);
        convolution(chain, &format!("{name}.{branch}.0"), Op::conv(from, reduced, 1, 1, 0), reduced);
        branches.push(convolution(chain, &format!("{name}.{branch}.1"), Op::conv(reduced, to, 3, 1, 1), to));
    }
    chain.branch(before);
    chain.then(format!("{name}.branch4.0"), Op::MaxPool(Window::ceil(3, 1, 1)));
    branches.push(convolution(chain, &format!("{name}.branch4.1"), Op::conv(from, pooled, 1, 1, 0), pooled));
    chain.concat(name, branches);
}

/// Convolution, batch norm and ReLU; the ReLU has no module of its own.
fn convolution(chain: &mut Chain, name: &str, convolution: Op, channels: u64) -> Map {
    chain.then(format!("{name}.conv"), convolution);
    chain.then(format!("{name}.bn"), Op::BatchNorm { channels });
    chain.then(name, Op::Relu(Place::InPlace))
}
