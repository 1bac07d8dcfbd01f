//! The network: two convolutions and two linear layers, each module of it a layer of the timeline.
//!
//! burn tells nobody when a module runs. So the forward pass puts each call into [`named`], which enters the layer; that is
//! all that a network of burn's modules needs. The names are those of the fields, as burn has them in the paths of
//! parameters.
use alloc_tracker::{Category, layer};
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::nn::{Linear, LinearConfig, PaddingConfig2d};
use burn::prelude::*;
use burn::tensor::activation::relu;
use images::{CLASSES, SIDE};

use crate::labels;

/// Maps that the convolutions make.
const MAPS: [usize; 2] = [16, 32];
/// Values between the linear layers.
const HIDDEN: usize = 64;

/// The modules that have parameters, and the pooling.
#[derive(Module, Debug)]
pub struct Network {
    conv1: Conv2d,
    conv2: Conv2d,
    pool: MaxPool2d,
    fc1: Linear,
    fc2: Linear,
}

/// The layers that have parameters.
pub const TRAINED: [&str; 4] = ["conv1", "conv2", "fc1", "fc2"];

impl Network {
    /// A network whose parameters burn makes when they are first asked for.
    pub fn new(device: &Device) -> Network {
        let convolution = |from, to| {
            Conv2dConfig::new([from, to], [3, 3]).with_padding(PaddingConfig2d::Explicit(1, 1, 1, 1)).init(device)
        };
        let pooled = SIDE / 4;
        Network {
            conv1: convolution(1, MAPS[0]),
            conv2: convolution(MAPS[0], MAPS[1]),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            fc1: LinearConfig::new(MAPS[1] * pooled * pooled, HIDDEN).init(device),
            fc2: LinearConfig::new(HIDDEN, CLASSES).init(device),
        }
    }

    /// The scores of each class for each of `images`.
    pub fn forward(&self, images: Tensor<4>) -> Tensor<2> {
        let xs = named("conv1", || self.conv1.forward(images));
        let xs = named("relu1", || relu(xs));
        let xs = named("pool1", || self.pool.forward(xs));
        let xs = named("conv2", || self.conv2.forward(xs));
        let xs = named("relu2", || relu(xs));
        let xs = named("pool2", || self.pool.forward(xs));
        let xs: Tensor<2> = named("flatten", || xs.flatten(1, 3));
        let xs = named("fc1", || self.fc1.forward(xs));
        let xs = named("relu3", || relu(xs));
        named("fc2", || self.fc2.forward(xs))
    }
}

/// Runs a module in the layer `name`, and labels the storage of what it makes.
fn named<const D: usize>(name: &str, module: impl FnOnce() -> Tensor<D>) -> Tensor<D> {
    let _layer = layer!(name);
    let made = module();
    labels::label(&made, Category::Activation, None);
    made
}
