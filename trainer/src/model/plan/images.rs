//! What layers keep that work on images, and those that work on anything. Sums, concatenations and views keep nothing: their
//! gradients need sizes alone. So does the mean that an adaptive pool to 1x1 is.
use super::rule::Rule;
use super::storage::{Read, Storages};
use crate::model::op::{Op, Place};
use crate::model::shape::{F32, I64, Shape};

pub(super) const CONVOLUTION: Rule = Rule::of_node(
    ["convolution", "input"],
    ["ConvolutionBackward0", "input"],
    "The gradient of the weights is computed from it.",
    &["tools/autograd/derivatives.yaml: convolution"],
);
const LINEAR: Rule = Rule::of_node(
    ["linear", "input"],
    ["AddmmBackward0", "mat1"],
    "The gradient of the weights is its transpose times the gradient of the result.",
    &["tools/autograd/derivatives.yaml: addmm", "aten/src/ATen/native/Linear.cpp: linear"],
);
const LINEAR_COPY: Rule = Rule::of_node(
    ["linear", "copy of the input"],
    ["MmBackward0", "self"],
    "Of a sequence with its places first in memory, matmul makes a copy in the other order; the gradient of the weights is \
     computed from that.",
    &["tools/autograd/derivatives.yaml: mm", "aten/src/ATen/native/LinearAlgebra.cpp: matmul"],
);
const BATCH_NORM: Rule = Rule::of_node(
    ["batch norm", "input"],
    ["NativeBatchNormBackward0", "input"],
    "The backward pass normalises it once more.",
    &["tools/autograd/derivatives.yaml: native_batch_norm"],
);
const BATCH_NORM_MEAN: Rule = Rule::of_node(
    ["batch norm", "mean"],
    ["NativeBatchNormBackward0", "result1"],
    "The batch's mean of each channel, with which the input is normalised once more.",
    &["tools/autograd/derivatives.yaml: native_batch_norm"],
);
const BATCH_NORM_DEVIATION: Rule = Rule::of_node(
    ["batch norm", "1/deviation"],
    ["NativeBatchNormBackward0", "result2"],
    "The batch's 1/deviation of each channel, with which the input is normalised once more.",
    &["tools/autograd/derivatives.yaml: native_batch_norm"],
);
const RELU: Rule = Rule::of_node(
    ["relu", "result"],
    ["ReluBackward0", "result"],
    "The gradient passes where the result is above 0.",
    &["tools/autograd/derivatives.yaml: relu"],
);
const RELU6: Rule = Rule::of_node(
    ["relu6", "copy of the input"],
    ["HardtanhBackward0", "self"],
    "The gradient passes where the input was between 0 and 6. In place the input is lost, so autograd copies it first.",
    &["tools/autograd/derivatives.yaml: hardtanh", "tools/autograd/gen_variable_type.py: save_variables"],
);
const LEAKY_RELU: Rule = Rule::of_node(
    ["leaky relu", "input"],
    ["LeakyReluBackward0", "self"],
    "The gradient passes whole where the input was above 0.",
    &["tools/autograd/derivatives.yaml: leaky_relu"],
);
const LEAKY_RELU_IN_PLACE: Rule = Rule::of_node(
    ["leaky relu in place", "result"],
    ["LeakyReluBackward1", "result"],
    "The gradient passes whole where the result is above 0, which it is where the input was.",
    &["tools/autograd/derivatives.yaml: leaky_relu_"],
);
const TANH: Rule = Rule::of_node(
    ["tanh", "result"],
    ["TanhBackward0", "result"],
    "The derivative is 1 - result^2.",
    &["tools/autograd/derivatives.yaml: tanh"],
);
const SIGMOID: Rule = Rule::of_node(
    ["sigmoid", "result"],
    ["SigmoidBackward0", "result"],
    "The derivative is result x (1 - result).",
    &["tools/autograd/derivatives.yaml: sigmoid"],
);
pub(super) const MAX_POOL: Rule = Rule::of_node(
    ["max pool", "input"],
    ["MaxPool2DWithIndicesBackward0", "self"],
    "Its gradient has its shape; the values are not read.",
    &["tools/autograd/derivatives.yaml: max_pool2d_with_indices"],
);
pub(super) const MAX_POOL_INDICES: Rule = Rule::of_node(
    ["max pool", "indices"],
    ["MaxPool2DWithIndicesBackward0", "result1"],
    "Where in its input each value of the result was, int64: the gradient goes there.",
    &["tools/autograd/derivatives.yaml: max_pool2d_with_indices"],
);
const AVG_POOL: Rule = Rule::of_node(
    ["average pool", "input"],
    ["AvgPool2DBackward0", "self"],
    "Its gradient has its shape; the values are not read.",
    &["tools/autograd/derivatives.yaml: avg_pool2d"],
);
const ADAPTIVE_AVG_POOL: Rule = Rule::of_node(
    ["adaptive average pool", "input"],
    ["AdaptiveAvgPool2DBackward0", "self"],
    "Its gradient has its shape; the values are not read. To one pixel it is a mean, which keeps nothing.",
    &["tools/autograd/derivatives.yaml: _adaptive_avg_pool2d", "aten/src/ATen/native/AdaptiveAveragePooling.cpp"],
);
const DROPOUT: Rule = Rule::of_node(
    ["dropout", "mask"],
    ["MulBackward0", "other"],
    "On a CPU dropout is a product with a mask in f32, which has 0 or 1 / (1 - p); the gradient is multiplied by it too.",
    &["tools/autograd/derivatives.yaml: mul.Tensor", "aten/src/ATen/native/Dropout.cpp: _dropout_impl"],
);

/// The storage in which the stage `name` leaves its map of shape `out`.
pub(super) fn left_by(storages: &mut Storages, op: Op, name: &str, read: Read, out: Shape, batch: u64) -> usize {
    let input = read.storage;
    let bytes = batch * out.bytes();
    match op {
        // `addmm` and `mm` have a formula for each of their operands, and save for those that need a gradient.
        Op::Linear { .. } if read.places_first => {
            storages.allocate_kept_to_learn(name, batch * read.shape.bytes(), &LINEAR_COPY);
            storages.allocate(name, bytes)
        }
        Op::Linear { .. } => {
            storages.keep_to_learn(input, &LINEAR);
            storages.allocate(name, bytes)
        }
        // One formula for the gradients of input, weights and bias names the input, so a frozen convolution saves it as well.
        Op::Conv(_) | Op::ConvTranspose(_) => {
            storages.keep(input, &CONVOLUTION);
            storages.allocate(name, bytes)
        }
        Op::BatchNorm { channels } => {
            storages.keep(input, &BATCH_NORM);
            storages.allocate_kept(name, channels * F32, &BATCH_NORM_MEAN);
            storages.allocate_kept(name, channels * F32, &BATCH_NORM_DEVIATION);
            storages.allocate(name, bytes)
        }
        Op::MaxPool(_) => {
            storages.keep(input, &MAX_POOL);
            storages.allocate_kept(name, batch * out.elements() * I64, &MAX_POOL_INDICES);
            storages.allocate(name, bytes)
        }
        Op::AvgPool(_) => {
            storages.keep(input, &AVG_POOL);
            storages.allocate(name, bytes)
        }
        Op::AdaptiveAvgPool { side } => {
            if side != 1 {
                storages.keep(input, &ADAPTIVE_AVG_POOL);
            }
            storages.allocate(name, bytes)
        }
        Op::Relu(place) => {
            let output = placed(storages, name, place, input, bytes);
            storages.keep(output, &RELU);
            output
        }
        Op::LeakyRelu { place, .. } => {
            storages.keep(input, if place == Place::InPlace { &LEAKY_RELU_IN_PLACE } else { &LEAKY_RELU });
            placed(storages, name, place, input, bytes)
        }
        Op::Tanh => storages.allocate_kept(name, bytes, &TANH),
        Op::Sigmoid => storages.allocate_kept(name, bytes, &SIGMOID),
        Op::Relu6 => {
            if storages.has_node() {
                storages.allocate_kept(name, bytes, &RELU6);
            }
            input
        }
        Op::Dropout { place, .. } => {
            storages.allocate_kept(name, bytes, &DROPOUT);
            placed(storages, name, place, input, bytes)
        }
        Op::Concat => storages.allocate(name, bytes),
        Op::Add(place) => placed(storages, name, place, input, bytes),
        Op::Flatten => input,
        Op::Sequence(_) | Op::Loss(_) => unreachable!("{op:?} has a file of its own"),
    }
}

/// The storage of a result of `bytes`.
fn placed(storages: &mut Storages, name: &str, place: Place, input: usize, bytes: u64) -> usize {
    match place {
        Place::InPlace => input,
        Place::New => storages.allocate(name, bytes),
    }
}
