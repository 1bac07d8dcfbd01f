//! What each stage computes, as calls of libtorch.
use tch::{Result, Tensor};

use super::how::{How, Statistics};
use super::inputs::Inputs;
use super::sequence;
use crate::model::leaky_relu::leaky_relu;
use crate::model::op::{Op, Place, Window};
use crate::model::weights::{BatchNorm, Weights};

/// Added to the variance before the root; torchvision's value.
const EPSILON: f64 = 1e-5;
/// Share of the new batch in the running statistics; torchvision's value.
const MOMENTUM: f64 = 0.1;

/// What a stage makes of the maps that it reads.
pub(super) fn apply(op: Op, weights: &Weights, inputs: &Inputs<'_>, how: How) -> Result<Tensor> {
    let map = inputs.first();
    let in_place = |place| how.in_place && place == Place::InPlace;
    match (op, weights) {
        (Op::Conv(conv), Weights::Conv(weight, bias)) => {
            let (_, stride, padding) = sides(conv.window);
            map.f_conv2d(weight, bias.as_ref(), stride, padding, [1, 1], conv.groups as i64)
        }
        (Op::ConvTranspose(conv), Weights::Conv(weight, bias)) => {
            let (_, stride, padding) = sides(conv.window);
            map.f_conv_transpose2d(weight, bias.as_ref(), stride, padding, [0, 0], conv.groups as i64, [1, 1])
        }
        (Op::BatchNorm { .. }, Weights::BatchNorm(weights)) => {
            let BatchNorm { weight, bias, running_mean, running_variance } = weights;
            // Without running statistics it uses the batch's, which in training it does anyway.
            let running = !how.train || how.statistics == Statistics::Updated;
            let (mean, variance) = (running.then_some(running_mean), running.then_some(running_variance));
            map.f_batch_norm(Some(weight), Some(bias), mean, variance, how.train, MOMENTUM, EPSILON, false)
        }
        (Op::Relu(place), _) if in_place(place) => map.shallow_clone().f_relu_(),
        (Op::Relu(_), _) => map.f_relu(),
        (Op::Relu6, _) if how.in_place => map.shallow_clone().f_relu6_(),
        (Op::Relu6, _) => map.f_relu6(),
        (Op::MaxPool(window), _) => {
            let (kernel, stride, padding) = sides(window);
            map.f_max_pool2d(kernel, stride, padding, [1, 1], window.ceil)
        }
        (Op::AvgPool(window), _) => {
            let (kernel, stride, padding) = sides(window);
            map.f_avg_pool2d(kernel, stride, padding, window.ceil, true, None)
        }
        (Op::AdaptiveAvgPool { side }, _) => map.f_adaptive_avg_pool2d([side as i64; 2]),
        (Op::Flatten, _) => map.f_flatten(1, -1),
        (Op::Concat, _) => Tensor::f_cat(&inputs.all(), 1),
        (Op::Add(place), _) => {
            let other = inputs.second();
            if in_place(place) { map.shallow_clone().f_add_(other) } else { map.f_add(other) }
        }
        (Op::Dropout { percent, place }, _) => {
            let part = percent as f64 / 100.0;
            if in_place(place) {
                map.shallow_clone().f_dropout_(part, how.train)
            } else {
                map.f_dropout(part, how.train)
            }
        }
        (Op::Linear { .. }, Weights::Linear(weight, bias)) => map.f_linear(weight, Some(bias)),
        (Op::LeakyRelu { slope_percent, place }, _) => leaky_relu(map, slope_percent as f64 / 100.0, in_place(place)),
        (Op::Tanh, _) => map.f_tanh(),
        (Op::Sigmoid, _) => map.f_sigmoid(),
        (Op::Sequence(op), weights) => sequence::apply(op, weights, inputs, how),
        // `Network::init` makes the weights from the same op, so nothing else can meet here.
        (op, weights) => unreachable!("{op:?} with {weights:?}"),
    }
}

/// Kernel, stride and padding in both directions.
fn sides(window: Window) -> ([i64; 2], [i64; 2], [i64; 2]) {
    let both = |side: u64| [side as i64; 2];
    (both(window.kernel), both(window.stride), both(window.padding))
}
