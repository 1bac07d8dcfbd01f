//! What networks over sequences keep for their backward pass, by kind of stage.
//!
//! The formulas are in `tools/autograd/derivatives.yaml` of PyTorch. Where an operator is made of several, the function is
//! named; its file lies in `aten/src/ATen/native/`.
//!
//! ```text
//! stage            allocates                             keeps for backward
//! half, first      nothing, a view                       nothing
//! embedding        its output                            its input, the tokens
//! add embedding    numbers of rows (8 B a place)         these numbers; a sum needs no operand
//! one-hot          its output                            nothing: tokens have no gradient
//! conv1d           its output                            its input
//! max pool 1d      its output, int64 indices             its input, the indices: `max_pool1d` (Pooling.cpp) hands over
//!                                                        to `max_pool2d_with_indices`
//! layer norm       its output, mean and 1/deviation      its input, mean and 1/deviation (4 B a place each)
//! gelu             its output                            its input
//! heads            a copy in the other order, unless     nothing
//!                  that is the same (one head or place)
//! scores, weigh    the product                           both operands: `matmul` (LinearAlgebra.cpp) views them as
//!                                                        batches for `bmm`
//! softmax          its output                            its output
//! concat features  its output                            nothing: sizes
//! lstm, gru        see below
//! ```
//!
//! With N texts of L places, and H features of a state, of 4 bytes each. Both layers take the places first, so they copy
//! their input into that order, unless there is one text or one place, and leave their output in it.
//!
//! ```text
//! lstm   first states, zeroes       2NH a layer
//!        of each layer              its input (the copy, or the output of the layer before), its output LNH, the last two
//!                                   states 2NH, oneDNN's workspace (`mkldnn_rnn_layer`, mkldnn/RNN.cpp; `workspace`)
//! gru    first state                NH, unless it lies in another map
//!        its input                  the copy
//!        of each place              3NH of gates, NH of the state's part before it is multiplied in place, NH of the proposed
//!        (`GRUCell`, RNN.cpp)       state, NH of its difference to the old one before that is multiplied in place, and NH of
//!                                   the new state; of the last place not that, which only goes into the output
//! ```
use super::storage::{Read, Storages};
use super::workspace;
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
        SequenceOp::Lstm { from, to, layers } => {
            keep_places_first(storages, name, reads[0], batch);
            storages.allocate_kept(name, 2 * layers * batch * to * F32);
            let mut output = input;
            for layer in 0..layers {
                let from = if layer == 0 { from } else { to };
                storages.allocate_kept(name, workspace::of_lstm(batch, out.size(), from, to));
                storages.allocate_kept(name, 2 * batch * to * F32);
                output = storages.allocate_kept(name, bytes);
            }
            output
        }
        SequenceOp::Gru { to, .. } => {
            keep_places_first(storages, name, reads[0], batch);
            let state = batch * to * F32;
            match reads.get(1) {
                Some(first_state) => storages.keep(first_state.storage),
                None => {
                    storages.allocate_kept(name, state);
                }
            }
            storages.allocate_kept(name, (7 * out.size() - 1) * state);
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

/// Whether the stage leaves a sequence with its places first in memory. With one text or one place, there is one order.
pub(super) fn leaves_places_first(op: SequenceOp, out: Shape, batch: u64) -> bool {
    matches!(op, SequenceOp::Lstm { .. } | SequenceOp::Gru { .. }) && batch > 1 && out.size() > 1
}

/// What a recurrent layer keeps of its input: a copy with the places first, if it does not lie like that.
fn keep_places_first(storages: &mut Storages, name: &str, input: Read, batch: u64) {
    if input.places_first || batch == 1 || input.shape.size() == 1 {
        storages.keep(input.storage);
    } else {
        storages.allocate_kept(name, batch * input.shape.bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::model::ModelName;
    use crate::model::plan::saved_for_backward;

    fn saved(model: ModelName, batch: u64, length: u64) -> BTreeMap<String, u64> {
        saved_for_backward(&model.stages(128), batch, model.input_of(length)).expect("fits")
    }

    /// Two texts of 5 places: 2 x 5 x 200 x 4 B = 8,000 B for a map, 1,600 B for a state.
    #[test]
    fn two_layers_of_lstm() {
        let saved = saved(ModelName::Lstm, 2, 5);
        assert_eq!(saved.get("encoder"), None, "its copy is kept");
        assert_eq!(
            saved["rnn"],
            3 * 8_000 + 4 * 1_600 + 4 * 1_600 + 2 * 147_456,
            "maps, last and first states, workspaces"
        );
        assert_eq!(saved["decoder"], 8_000, "a copy in the other order");
        assert_eq!(saved["loss"], 2 * 5 * 128 * 4 + 8);
    }

    /// With one text there is one order: nothing is copied.
    #[test]
    fn one_text_is_not_copied() {
        let saved = saved(ModelName::Lstm, 1, 5);
        assert_eq!((saved["encoder"], saved.get("decoder")), (5 * 800, None));
    }

    /// Two texts of 4 places on either side: 2 x 256 x 4 B = 2,048 B for a state.
    #[test]
    fn recurrent_units_and_attention() {
        let saved = saved(ModelName::Seq2Seq, 2, 8);
        assert_eq!(
            saved["encoder.gru"],
            (4 + 1 + 27 + 4) * 2_048,
            "input, first state, 7 x 4 - 1 of the places, output"
        );
        assert_eq!(saved["decoder.gru"], (4 + 27 + 4) * 2_048, "its first state lies in the encoder's output");
        assert_eq!(saved["decoder.attn"], 2 * 4 * 4 * 4, "the shares");
        assert_eq!(saved["decoder"], 2 * 4 * 512 * 4 + 2 * 4 * 256 * 4, "the input of `concat`, the tangent's output");
    }

    /// One text of 3 words of 128 features in a layer of two heads: 3 x 128 x 4 B = 1,536 B for a map.
    #[test]
    fn one_layer_of_bert() {
        let saved = saved(ModelName::BertTiny, 1, 3);
        let layer = |part: &str| saved.get(&format!("bert.encoder.layer.0.{part}")).copied();
        let shares = 2 * 3 * 3 * 4;
        assert_eq!(layer("attention.self"), Some(4 * 1_536 + shares), "three copies by heads, the shares, their means");
        assert_eq!(layer("attention.self.query"), None, "only its copy is kept");
        assert_eq!(layer("attention.self.dropout"), Some(2 * shares), "mask and result");
        assert_eq!(layer("attention.output"), Some(1_536), "the sum is the layer norm's input");
        assert_eq!(
            layer("attention.output.LayerNorm"),
            Some(1_536 + 2 * 3 * 4),
            "input of what follows; mean, 1/deviation"
        );
        assert_eq!(layer("intermediate.dense"), Some(4 * 1_536), "gelu keeps its input");
        assert_eq!(saved["bert.embeddings.position_embeddings"], 3 * 8, "numbers of the rows");
    }
}
