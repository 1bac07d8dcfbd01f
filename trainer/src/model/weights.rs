//! The variables of a stage and their first values, as torchvision draws them.
use tch::nn::init::{FanInOut, NonLinearity, NormalOrUniform};
use tch::{Result, Tensor, nn};

use super::op::{Conv, Op, SequenceOp};
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
    /// The table of an embedding, `[rows, features]`.
    Table(Tensor),
    /// Weight and bias of a layer norm, `[features]`.
    LayerNorm(Tensor, Tensor),
    /// For each layer a weight over the input `[gates x to, from]`, one over the state `[gates x to, to]`, and a bias to
    /// each.
    Recurrent(Vec<Tensor>),
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
    /// What is learned: all variables but running statistics.
    pub(super) fn parameters(&self) -> Vec<&Tensor> {
        match self {
            Weights::None => Vec::new(),
            Weights::Conv(weight, bias) => std::iter::once(weight).chain(bias).collect(),
            Weights::BatchNorm(BatchNorm { weight, bias, .. })
            | Weights::Linear(weight, bias)
            | Weights::LayerNorm(weight, bias) => vec![weight, bias],
            Weights::Table(table) => vec![table],
            Weights::Recurrent(weights) => weights.iter().collect(),
        }
    }

    /// How many filters (output channels) the layer has, and along which dimension of its parameters they lie. That of an
    /// embedding is a column of its table, that of a recurrent layer a feature of the state, with a row for each gate.
    pub(super) fn filters(&self) -> (usize, i64) {
        let (along, dimension) = match (self, &self.parameters()[..]) {
            (Weights::Table(table), _) => (table.size()[1], 1),
            // [gates x to, to] over the state; `to` are the features.
            (Weights::Recurrent(_), [_, over_state, ..]) => (over_state.size()[1], 0),
            (_, [first, ..]) => (first.size()[0], 0),
            (_, []) => (0, 0),
        };
        (along as usize, dimension)
    }

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
                let weight = path.f_var("weight", &[to as i64, from as i64], uniform(from))?;
                Weights::Linear(weight, path.f_var("bias", &[to as i64], uniform(from))?)
            }
            Op::Sequence(op) => of_sequence(op, &path)?,
            _ => Weights::None,
        })
    }
}

/// The variables of what works on sequences, with PyTorch's names and first values.
fn of_sequence(op: SequenceOp, path: &nn::Path<'_>) -> Result<Weights> {
    Ok(match op {
        SequenceOp::Embedding { rows, features } | SequenceOp::AddEmbedding { rows, features, .. } => {
            let normal = nn::Init::Randn { mean: 0.0, stdev: 1.0 };
            Weights::Table(path.f_var("weight", &[rows as i64, features as i64], normal)?)
        }
        SequenceOp::Conv1d { from, to, kernel } => {
            let first_values = uniform(from * kernel);
            let weight = path.f_var("weight", &[to as i64, from as i64, kernel as i64], first_values)?;
            Weights::Conv(weight, Some(path.f_var("bias", &[to as i64], first_values)?))
        }
        SequenceOp::LayerNorm { features } => {
            let dims = [features as i64];
            Weights::LayerNorm(path.f_ones("weight", &dims)?, path.f_zeros("bias", &dims)?)
        }
        SequenceOp::Lstm { from, to, layers } => recurrent(path, 4, from, to, layers)?,
        SequenceOp::Gru { from, to } => recurrent(path, 3, from, to, 1)?,
        _ => Weights::None,
    })
}

/// The variables of recurrent layers, in the order in which libtorch takes them.
fn recurrent(path: &nn::Path<'_>, gates: u64, from: u64, to: u64, layers: u64) -> Result<Weights> {
    let mut weights = Vec::new();
    for layer in 0..layers {
        let (rows, columns) = ((gates * to) as i64, if layer == 0 { from } else { to } as i64);
        for (name, dims) in [
            ("weight_ih", &[rows, columns][..]),
            ("weight_hh", &[rows, to as i64]),
            ("bias_ih", &[rows]),
            ("bias_hh", &[rows]),
        ] {
            weights.push(path.f_var(&format!("{name}_l{layer}"), dims, uniform(to))?);
        }
    }
    Ok(Weights::Recurrent(weights))
}

/// Uniform within 1 / sqrt(`features`).
fn uniform(features: u64) -> nn::Init {
    let up = 1.0 / (features as f64).sqrt();
    nn::Init::Uniform { lo: -up, up }
}

/// Kaiming normal over the fan-out, for the ReLU that follows.
const CONV: nn::Init =
    nn::Init::Kaiming { dist: NormalOrUniform::Normal, fan: FanInOut::FanOut, non_linearity: NonLinearity::ReLU };

/// Shape of a convolution's weight.
fn dims(conv: Conv) -> [i64; 4] {
    let kernel = conv.window.kernel as i64;
    [conv.to as i64, (conv.from / conv.groups) as i64, kernel, kernel]
}
