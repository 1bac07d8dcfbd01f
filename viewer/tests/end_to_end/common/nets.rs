//! MobileNetV1 and ResNet-18 as lists of layers, with the bytes that follow from the shapes.
use alloc_timeline::Timeline;

use super::simulation::train;

/// One layer: the bytes of its parameters, and the bytes that it saves for the backward pass of one image.
#[derive(Clone, Debug)]
pub struct Layer {
    pub path: String,
    pub op: &'static str,
    pub parameter: u64,
    pub saved: u64,
}

fn conv(path: String, inputs: u64, outputs: u64, kernel: u64, groups: u64, side: u64) -> Layer {
    let parameter = inputs / groups * outputs * kernel * kernel * 4;
    Layer { path, op: "aten::conv2d", parameter, saved: outputs * side * side * 4 }
}

/// A norm that is followed by a ReLU does not keep its output, so it saves nothing.
fn norm(path: String, channels: u64) -> Layer {
    Layer { path, op: "aten::batch_norm", parameter: channels * 8, saved: 0 }
}

fn relu(path: String, channels: u64, side: u64) -> Layer {
    Layer { path, op: "aten::relu", parameter: 0, saved: channels * side * side * 4 }
}

fn mobilenet_layers() -> Vec<Layer> {
    let mut layers =
        vec![conv("stem.conv".into(), 3, 32, 3, 1, 112), norm("stem.bn".into(), 32), relu("stem.relu".into(), 32, 112)];
    let (mut channels, mut side) = (32, 112);
    let blocks = [
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
    for (index, (outputs, stride)) in blocks.into_iter().enumerate() {
        side /= stride;
        let at = |part: &str| format!("blocks.{index}.{part}");
        layers.extend([
            conv(at("depthwise.conv"), channels, channels, 3, channels, side),
            norm(at("depthwise.bn"), channels),
            relu(at("depthwise.relu"), channels, side),
            conv(at("pointwise.conv"), channels, outputs, 1, 1, side),
            norm(at("pointwise.bn"), outputs),
            relu(at("pointwise.relu"), outputs, side),
        ]);
        channels = outputs;
    }
    layers.push(Layer { path: "fc".into(), op: "aten::linear", parameter: 1025 * 1000 * 4, saved: 1024 * 4 });
    layers
}

fn resnet_layers() -> Vec<Layer> {
    let mut layers = vec![conv("conv1".into(), 3, 64, 7, 1, 112), norm("bn1".into(), 64), relu("relu".into(), 64, 112)];
    layers.push(Layer { path: "maxpool".into(), op: "aten::max_pool2d", parameter: 0, saved: 64 * 56 * 56 * 12 });
    let mut channels = 64;
    for (stage, outputs) in [64, 128, 256, 512].into_iter().enumerate() {
        let side = 56 >> stage;
        for block in 0..2 {
            let at = |part: &str| format!("layer{}.{block}.{part}", stage + 1);
            layers.extend([
                conv(at("conv1"), channels, outputs, 3, 1, side),
                norm(at("bn1"), outputs),
                relu(at("relu1"), outputs, side),
                conv(at("conv2"), outputs, outputs, 3, 1, side),
                norm(at("bn2"), outputs),
                relu(at("relu2"), outputs, side),
            ]);
            if channels != outputs {
                layers.push(conv(at("downsample.0"), channels, outputs, 1, 1, side));
                layers.push(norm(at("downsample.1"), outputs));
            }
            channels = outputs;
        }
    }
    layers.push(Layer { path: "fc".into(), op: "aten::linear", parameter: 513 * 1000 * 4, saved: 512 * 4 });
    layers
}

/// Three steps of MobileNetV1 at batch 8.
pub fn mobilenet() -> Timeline {
    train("mobilenet_v1", &mobilenet_layers(), 8, 3)
}

/// Three steps of ResNet-18 at batch 8.
pub fn resnet18() -> Timeline {
    train("resnet18", &resnet_layers(), 8, 3)
}

/// One step of the first three layers of ResNet-18 at batch 1: small enough for a golden file.
pub fn stem() -> Timeline {
    train("stem", &resnet_layers()[..3], 1, 1)
}
