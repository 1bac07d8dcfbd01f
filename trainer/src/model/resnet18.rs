//! ResNet-18, module for module as torchvision has it (He et al., 2015, version with 1x1 shortcuts).
use super::stage::{Op, Stage, StageList, Window, conv};

/// The stages for images of 3 channels.
pub(super) fn stages(classes: u64) -> Vec<Stage> {
    let mut list = StageList::default();
    list.main("conv1", conv(3, 64, 7, 2, 3));
    list.main("bn1", Op::BatchNorm { channels: 64 });
    list.main("relu", Op::Relu);
    list.main("maxpool", Op::MaxPool(Window { kernel: 3, stride: 2, padding: 1 }));
    let mut from = 64;
    for (group, to) in [(1, 64), (2, 128), (3, 256), (4, 512)] {
        let stride = if to == from { 1 } else { 2 };
        block(&mut list, &format!("layer{group}.0"), from, to, stride);
        block(&mut list, &format!("layer{group}.1"), to, to, 1);
        from = to;
    }
    list.main("avgpool", Op::AvgPool);
    list.main("fc", Op::Linear { from: 512, to: classes });
    list.0
}

/// A basic block: two 3x3 convolutions around which the shortcut goes. The in-place sum has no module of its own and
/// runs as the block.
fn block(list: &mut StageList, name: &str, from: u64, to: u64, stride: u64) {
    list.main(name, Op::Fork);
    list.main(format!("{name}.conv1"), conv(from, to, 3, stride, 1));
    list.main(format!("{name}.bn1"), Op::BatchNorm { channels: to });
    list.main(format!("{name}.relu"), Op::Relu);
    list.main(format!("{name}.conv2"), conv(to, to, 3, 1, 1));
    list.main(format!("{name}.bn2"), Op::BatchNorm { channels: to });
    if stride != 1 || from != to {
        list.shortcut(format!("{name}.downsample.0"), conv(from, to, 1, stride, 0));
        list.shortcut(format!("{name}.downsample.1"), Op::BatchNorm { channels: to });
    }
    list.main(name, Op::Join);
    list.main(format!("{name}.relu"), Op::Relu);
}
