//! SqueezeNet 1.1, module for module as torchvision has it (Iandola et al., 2016).
use crate::model::op::{Op, Place, Window};
use crate::model::stage::{Chain, Stage};

/// What `features` consists of behind the first convolution.
enum Feature {
    Pool,
    /// Channels in, squeezed to, and of either expansion.
    Fire(u64, u64, u64),
}

/// The stages for images of 3 channels.
pub(in crate::model) fn stages(classes: u64) -> Vec<Stage> {
    use Feature::{Fire, Pool};
    let mut chain = Chain::default();
    chain.then("features.0", Op::biased_conv(3, 64, 3, 2, 0));
    chain.then("features.1", Op::Relu(Place::InPlace));
    let features = [
        Pool,
        Fire(64, 16, 64),
        Fire(128, 16, 64),
        Pool,
        Fire(128, 32, 128),
        Fire(256, 32, 128),
        Pool,
        Fire(256, 48, 192),
        Fire(384, 48, 192),
        Fire(384, 64, 256),
        Fire(512, 64, 256),
    ];
    for (index, feature) in (2..).zip(features) {
        let name = format!("features.{index}");
        match feature {
            Pool => {
                chain.then(name, Op::MaxPool(Window::ceil(3, 2, 0)));
            }
            Fire(from, squeezed, expanded) => fire(&mut chain, &name, from, squeezed, expanded),
        }
    }
    chain.then("classifier.0", Op::Dropout { percent: 50, place: Place::New });
    chain.then("classifier.1", Op::biased_conv(512, classes, 1, 1, 0));
    chain.then("classifier.2", Op::Relu(Place::InPlace));
    chain.then("classifier.3", Op::AdaptiveAvgPool { side: 1 });
    chain.then("classifier.3", Op::Flatten);
    chain.into_stages()
}

/// One convolution to few channels, and two side by side back to many.
fn fire(chain: &mut Chain, name: &str, from: u64, squeezed: u64, expanded: u64) {
    chain.then(format!("{name}.squeeze"), Op::biased_conv(from, squeezed, 1, 1, 0));
    let middle = chain.then(format!("{name}.squeeze_activation"), Op::Relu(Place::InPlace));
    let expansions = [("expand1x1", 1, 0), ("expand3x3", 3, 1)].map(|(part, kernel, padding)| {
        chain.branch(middle);
        chain.then(format!("{name}.{part}"), Op::biased_conv(squeezed, expanded, kernel, 1, padding));
        chain.then(format!("{name}.{part}_activation"), Op::Relu(Place::InPlace))
    });
    chain.concat(name, expansions.into());
}
