//! DenseNets for images of 32 x 32 (Huang et al., 2016): DenseNet-40 with growth 12, and DenseNet-BC-100 with growth 12,
//! which has bottlenecks and compresses between its blocks.
use crate::model::op::{Op, Place, Window};
use crate::model::stage::{Chain, Map, Stage};

/// Channels that each layer adds.
const GROWTH: u64 = 12;

/// The stages for images of 3 channels: three blocks of (`depth` - 4) / 3 convolutions each.
pub(in crate::model) fn stages(depth: u64, bottleneck: bool, classes: u64) -> Vec<Stage> {
    let mut chain = Chain::default();
    let convolutions = (depth - 4) / 3;
    let layers = if bottleneck { convolutions / 2 } else { convolutions };
    let mut channels = if bottleneck { 2 * GROWTH } else { 16 };
    chain.then("conv1", Op::conv(3, channels, 3, 1, 1));
    for block in 1..=3 {
        for index in 0..layers {
            layer(&mut chain, &format!("block{block}.layer.{index}"), channels, bottleneck);
            channels += GROWTH;
        }
        if block < 3 {
            let to = if bottleneck { channels / 2 } else { channels };
            let name = format!("trans{block}");
            normalised(&mut chain, &name, "1", channels);
            chain.then(format!("{name}.conv1"), Op::conv(channels, to, 1, 1, 0));
            chain.then(format!("{name}.pool"), Op::AvgPool(Window::new(2, 2, 0)));
            channels = to;
        }
    }
    chain.then("bn1", Op::BatchNorm { channels });
    chain.then("relu", Op::Relu(Place::InPlace));
    chain.then("avgpool", Op::AdaptiveAvgPool { side: 1 });
    chain.then("avgpool", Op::Flatten);
    chain.then("fc", Op::Linear { from: channels, to: classes });
    chain.into_stages()
}

/// A layer's new maps behind all those before it.
fn layer(chain: &mut Chain, name: &str, from: u64, bottleneck: bool) {
    let before: Map = chain.end();
    normalised(chain, name, "1", from);
    if bottleneck {
        chain.then(format!("{name}.conv1"), Op::conv(from, 4 * GROWTH, 1, 1, 0));
        normalised(chain, name, "2", 4 * GROWTH);
        chain.then(format!("{name}.conv2"), Op::conv(4 * GROWTH, GROWTH, 3, 1, 1));
    } else {
        chain.then(format!("{name}.conv1"), Op::conv(from, GROWTH, 3, 1, 1));
    }
    let new = chain.end();
    chain.concat(name, vec![before, new]);
}

/// Batch norm and ReLU.
fn normalised(chain: &mut Chain, name: &str, number: &str, channels: u64) {
    chain.then(format!("{name}.bn{number}"), Op::BatchNorm { channels });
    chain.then(format!("{name}.relu"), Op::Relu(Place::InPlace));
}
