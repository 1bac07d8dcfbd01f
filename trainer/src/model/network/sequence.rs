//! What the stages of networks over sequences compute, as calls of libtorch.
//!
//! A sequence is `[N, L, features]`; recurrent layers leave theirs with the places first in memory, as `nn.LSTM` does with
//! `batch_first`. Attention is written out as matrix products, softmax and dropout, as the papers have it:
//! `scaled_dot_product_attention` of libtorch does the same on a CPU as soon as there is dropout.
use tch::{Kind, Result, Tensor};

use super::how::How;
use super::inputs::Inputs;
use crate::model::op::{Half, Row, SequenceOp};
use crate::model::weights::Weights;

/// Added to the variance before the root; that of BERT.
const EPSILON: f64 = 1e-12;

/// What a stage makes of the maps that it reads.
pub(super) fn apply(op: SequenceOp, weights: &Weights, inputs: &Inputs<'_>, how: How) -> Result<Tensor> {
    let map = inputs.first();
    match (op, weights) {
        (SequenceOp::Half(half), _) => {
            let length = map.size()[1] / 2;
            map.f_narrow(1, if half == Half::First { 0 } else { length }, length)
        }
        (SequenceOp::Embedding { .. }, Weights::Table(table)) => Tensor::f_embedding(table, map, -1, false, false),
        (SequenceOp::AddEmbedding { row, .. }, Weights::Table(table)) => {
            let length = map.size()[1];
            let options = (Kind::Int64, map.device());
            let rows = match row {
                Row::OfPlace => Tensor::f_arange(length, options)?,
                Row::Zero => Tensor::f_zeros([length], options)?,
            };
            let added = Tensor::f_embedding(table, &rows, -1, false, false)?;
            if how.in_place { map.shallow_clone().f_add_(&added) } else { map.f_add(&added) }
        }
        (SequenceOp::OneHot { channels }, _) => one_hot(map, channels),
        (SequenceOp::Conv1d { .. }, Weights::Conv(weight, bias)) => map.f_conv1d(weight, bias.as_ref(), 1, 0, 1, 1),
        (SequenceOp::MaxPool1d { kernel }, _) => map.f_max_pool1d(kernel as i64, kernel as i64, 0, 1, false),
        (SequenceOp::Lstm { to, layers, .. }, Weights::Recurrent(weights)) => {
            let dims = [layers as i64, map.size()[0], to as i64];
            let state = || Tensor::f_zeros(dims, (map.kind(), map.device()));
            let (places, ..) =
                map.f_lstm(&[state()?, state()?], weights, true, layers as i64, 0.0, how.train, false, true)?;
            Ok(places)
        }
        (SequenceOp::Gru { to, .. }, Weights::Recurrent(weights)) => {
            let state = match inputs.further() {
                Some(other) => other.f_select(1, -1)?.f_unsqueeze(0)?,
                None => Tensor::f_zeros([1, map.size()[0], to as i64], (map.kind(), map.device()))?,
            };
            let (places, _) = map.f_gru(&state, weights, true, 1, 0.0, how.train, false, true)?;
            Ok(places)
        }
        (SequenceOp::LayerNorm { features }, Weights::LayerNorm(weight, bias)) => {
            map.f_layer_norm([features as i64], Some(weight), Some(bias), EPSILON, false)
        }
        (SequenceOp::Gelu, _) => map.f_gelu("none"),
        (SequenceOp::SplitHeads { heads }, _) => {
            let [batch, length, features] = map.size()[..] else { unreachable!("a sequence has three dimensions") };
            let heads = heads as i64;
            map.f_view([batch, length, heads, features / heads])?.f_transpose(1, 2)?.f_contiguous()
        }
        (SequenceOp::MergeHeads, _) => map.f_transpose(1, 2)?.f_contiguous()?.f_flatten(2, 3),
        (SequenceOp::Scores { scaled }, _) => {
            let mut scores = map.f_matmul(&inputs.second().f_transpose(-1, -2)?)?;
            if scaled {
                let features = map.size().last().copied().unwrap_or(1);
                scores = scores.f_div_scalar_((features as f64).sqrt())?;
            }
            Ok(scores)
        }
        (SequenceOp::Softmax, _) => map.f_softmax(-1, None::<Kind>),
        (SequenceOp::Weigh, _) => map.f_matmul(inputs.second()),
        (SequenceOp::ConcatFeatures, _) => Tensor::f_cat(&inputs.all(), -1),
        (SequenceOp::First, _) => map.f_select(1, 0),
        // `Weights::init` makes the weights from the same op, so nothing else can meet here.
        (op, weights) => unreachable!("{op:?} with {weights:?}"),
    }
}

/// [N, L] tokens to [N, channels, L]: token t, counted from 1, is a 1 in channel t - 1; token 0 is none.
fn one_hot(tokens: &Tensor, channels: u64) -> Result<Tensor> {
    let [batch, length] = tokens.size()[..] else { unreachable!("tokens have two dimensions") };
    let mut places = Tensor::f_zeros([batch, channels as i64, length], (Kind::Float, tokens.device()))?;
    let channel = tokens.f_sub_scalar(1)?.f_clamp_min(0)?.f_unsqueeze(1)?;
    let is_known = tokens.f_gt(0)?.f_to_kind(Kind::Float)?.f_unsqueeze(1)?;
    places.f_scatter_(1, &channel, &is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_as_channels() {
        let places = one_hot(&Tensor::from_slice(&[1i64, 0, 3, 1]).view([2, 2]), 3).expect("made");
        let expected = Tensor::from_slice(&[1.0f32, 0., 0., 0., 0., 0., 0., 1., 0., 0., 1., 0.]).view([2, 3, 2]);
        assert_eq!(places, expected, "token 0 is no channel, 1 the first, 3 the last");
    }
}
