//! The variables of a stage and their first values, as torchvision draws them.
use tch::nn::init::{FanInOut, NonLinearity, NormalOrUniform};
use tch::{Result, Tensor, nn};

use super::op::{Conv, Op};
use super::stage::Stage;

/// The variables of one stage; handles into the network's store.
#[derive(Debug)]
pub(super) enum Weights {
    /// Nothing to learn.
    None,
    /// Weight `[to, from / groups, kernel, kernel]`; bias `[to]`, if it has one.
    Conv(Tensor, Option<Tensor>),
    /// All `[channels]`.
    BatchNorm(BatchNorm),
    /// Weight `[to, from]`, bias `[to]`.
    Linear(Tensor, Tensor),
}

/// The variables of a batch norm, each `[channels]`.
#[derive(Debug)]
pub(super) struct BatchNorm {
    pub(super) weight: Tensor,
    pub(super) bias: Tensor,
    pub(super) running_mean: Tensor,
    pub(super) running_variance: Tensor,
}

impl Weights {
    /// Makes the variables of `stage` under its name in the store behind `root`.
    pub(super) fn init(root: &nn::Path<'_>, stage: &Stage) -> Result<Weights> {
        let path = stage.name.split('.').fold(root.clone(), |path, part| path.sub(part));
        Ok(match stage.op {
            Op::Conv(conv) => {
                let weight = path.f_var("weight", &dims(conv), CONV)?;
                let bias = conv.bias.then(|| path.f_zeros("bias", &[conv.to as i64])).transpose()?;
                Weights::Conv(weight, bias)
            }
            // With the inputs first, the other way round than a convolution's.
            Op::ConvTranspose(conv) => {
                let [to, from, height, width] = dims(conv);
                Weights::Conv(path.f_var("weight", &[from, to, height, width], CONV)?, None)
            }
            Op::BatchNorm { channels } => {
                let dims = [channels as i64];
                Weights::BatchNorm(BatchNorm {
                    weight: path.f_ones("weight", &dims)?,
                    bias: path.f_zeros("bias", &dims)?,
                    running_mean: path.f_zeros_no_train("running_mean", &dims)?,
                    running_variance: path.f_ones_no_train("running_var", &dims)?,
                })
            }
            Op::Linear { from, to } => {
                // PyTorch's default of a linear layer: uniform within 1 / sqrt(features in), the bias as well.
                let up = 1.0 / (from as f64).sqrt();
                let uniform = nn::Init::Uniform { lo: -up, up };
                let weight = path.f_var("weight", &[to as i64, from as i64], uniform)?;
                Weights::Linear(weight, path.f_var("bias", &[to as i64], uniform)?)
            }
            _ => Weights::None,
        })
    }
}

/// Kaiming normal over the fan-out, for the ReLU that follows.
const CONV: nn::Init =
    nn::Init::Kaiming { dist: NormalOrUniform::Normal, fan: FanInOut::FanOut, non_linearity: NonLinearity::ReLU };

/// Shape of a convolution's weight.
fn dims(conv: Conv) -> [i64; 4] {
    let kernel = conv.window.kernel as i64;
    [conv.to as i64, (conv.from / conv.groups) as i64, kernel, kernel]
}
