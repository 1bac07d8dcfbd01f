//! MobileNetV1 at width 1.0 (Howard et al., 2017), named as the well-known PyTorch port names it.
//!
//! The activation is plain ReLU, which keeps its result for the backward pass. ReLU6 would be a hardtanh, which
//! keeps its input: half as many bytes again.
use super::stage::{Op, Stage, StageList, conv, depthwise};

/// Channels and stride of the 13 depthwise-separable blocks.
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

/// The stages for images of 3 channels.
pub(super) fn stages(classes: u64) -> Vec<Stage> {
    let mut list = StageList::default();
    triple(&mut list, "model.0", 0, conv(3, 32, 3, 2, 1), 32);
    let mut from = 32;
    for (index, (to, stride)) in BLOCKS.into_iter().enumerate() {
        let name = format!("model.{}", index + 1);
        triple(&mut list, &name, 0, depthwise(from, stride), from);
        triple(&mut list, &name, 3, conv(from, to, 1, 1, 0), to);
        from = to;
    }
    list.main("model.14", Op::AvgPool);
    list.main("fc", Op::Linear { from, to: classes });
    list.0
}

/// Convolution, batch norm and ReLU as `name.first`, `name.first+1`, `name.first+2`.
fn triple(list: &mut StageList, name: &str, first: u64, convolution: Op, channels: u64) {
    list.main(format!("{name}.{first}"), convolution);
    list.main(format!("{name}.{}", first + 1), Op::BatchNorm { channels });
    list.main(format!("{name}.{}", first + 2), Op::Relu);
}
