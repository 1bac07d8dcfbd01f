//! What networks over sequences keep for their backward pass, by kind of stage.
//!
//! The formulas are in `tools/autograd/derivatives.yaml` of PyTorch. What is made of several operators there, or has a file of its
//! own, is named.
//!
//! ```text
//! stage            allocates                                keeps for backward
//! half, first      nothing, a view                          nothing
//! embedding        its output                               its input, the tokens
//! add embedding    numbers of rows (8 B a place)            these numbers; a sum needs no operand
//! one-hot          its output                               nothing: tokens have no gradient
//! conv1d           its output                               its input
//! max pool 1d      its output, int64 indices                its input, the indices (max_pool1d, aten/src/ATen/native/Pooling.cpp,
//!                                                           hands over to max_pool2d_with_indices)
//! layer norm       its output, mean and 1/deviation         its input, mean and 1/deviation (4 B a place each)
//! gelu             its output                               its input
//! heads            a copy in the other order, unless it     nothing
//!                  is the same order (one head or place)
//! scores, weigh    the product                              both operands (matmul views them as batches for bmm)
//! softmax          its output                               its output
//! concat features  its output                               nothing: sizes
//! ```
use super::storage::{Read, Storages};
use crate::model::op::SequenceOp;
use crate::model::shape::{F32, I64, Shape};

/// The storage in which the stage `name` leaves its map of shape `out`.
pub(super) fn left_by(
    storages: &mut Storages,
    op: SequenceOp,
    name: &str,
    reads: &[Read],
    out: Shape,
    batch: u64,
) -> usize {
    let input = reads[0].storage;
    let bytes = batch * out.bytes();
    match op {
        SequenceOp::Half(_) | SequenceOp::First => input,
        SequenceOp::Embedding { .. } | SequenceOp::Conv1d { .. } | SequenceOp::Gelu => {
            storages.keep(input);
            storages.allocate(name, bytes)
        }
        SequenceOp::AddEmbedding { .. } => {
            storages.allocate_kept(name, out.size() * I64);
            input
        }
        SequenceOp::OneHot { .. } | SequenceOp::ConcatFeatures => storages.allocate(name, bytes),
        SequenceOp::MaxPool1d { .. } => {
            storages.keep(input);
            storages.allocate_kept(name, batch * out.elements() * I64);
            storages.allocate(name, bytes)
        }
        SequenceOp::Lstm { .. } => {
            storages.keep(input);
            storages.allocate(name, bytes)
        }
        SequenceOp::Gru { .. } => {
            storages.keep(input);
            storages.allocate(name, bytes)
        }
        SequenceOp::LayerNorm { .. } => {
            storages.keep(input);
            storages.allocate_kept(name, batch * out.places() * F32);
            storages.allocate_kept(name, batch * out.places() * F32);
            storages.allocate(name, bytes)
        }
        SequenceOp::SplitHeads { .. } | SequenceOp::MergeHeads => {
            let of_heads = if op == SequenceOp::MergeHeads { reads[0].shape } else { out };
            match of_heads {
                Shape::Heads { heads: 1, .. } | Shape::Heads { length: 1, .. } => input,
                _ => storages.allocate(name, bytes),
            }
        }
        SequenceOp::Scores { .. } | SequenceOp::Weigh => {
            storages.keep(input);
            storages.keep(reads[1].storage);
            storages.allocate(name, bytes)
        }
        SequenceOp::Softmax => storages.allocate_kept(name, bytes),
    }
}
