//! What networks over sequences keep for their backward pass; `recurrent` has their recurrent layers. Views, one-hot rows,
//! copies in another order and concatenations keep nothing: their gradients need sizes alone, and tokens have none.
use super::images::{CONVOLUTION, MAX_POOL, MAX_POOL_INDICES};
use super::recurrent::{left_by_gru, left_by_lstm};
use super::rule::Rule;
use super::storage::{Read, Storages};
use crate::model::op::SequenceOp;
use crate::model::shape::{F32, I64, Shape};

const EMBEDDING: Rule = Rule::of_node(
    ["embedding", "tokens"],
    ["EmbeddingBackward0", "indices"],
    "The gradient is added to the rows that were taken.",
    &["tools/autograd/derivatives.yaml: embedding"],
);
const ADD_EMBEDDING: Rule = Rule::of_node(
    ["embedding", "numbers of the rows"],
    ["EmbeddingBackward0", "indices"],
    "The gradient is added to the rows that were taken, one for each place, int64; the sum with them keeps nothing.",
    &["tools/autograd/derivatives.yaml: embedding"],
);
const LAYER_NORM: Rule = Rule::of_node(
    ["layer norm", "input"],
    ["NativeLayerNormBackward0", "input"],
    "The backward pass normalises it once more.",
    &["tools/autograd/derivatives.yaml: native_layer_norm"],
);
const LAYER_NORM_MEAN: Rule = Rule::of_node(
    ["layer norm", "mean"],
    ["NativeLayerNormBackward0", "result1"],
    "The mean of each place, with which the input is normalised once more.",
    &["tools/autograd/derivatives.yaml: native_layer_norm"],
);
const LAYER_NORM_DEVIATION: Rule = Rule::of_node(
    ["layer norm", "1/deviation"],
    ["NativeLayerNormBackward0", "result2"],
    "The 1/deviation of each place, with which the input is normalised once more.",
    &["tools/autograd/derivatives.yaml: native_layer_norm"],
);
const GELU: Rule = Rule::of_node(
    ["gelu", "input"],
    ["GeluBackward0", "self"],
    "The derivative is a function of the input.",
    &["tools/autograd/derivatives.yaml: gelu"],
);
const MATMUL_LEFT: Rule = Rule::of_node(
    ["matmul", "left operand"],
    ["BmmBackward0", "self"],
    "The gradient of the right operand is its transpose times the gradient of the product.",
    &["tools/autograd/derivatives.yaml: bmm", "aten/src/ATen/native/LinearAlgebra.cpp: matmul"],
);
const MATMUL_RIGHT: Rule = Rule::of_node(
    ["matmul", "right operand"],
    ["BmmBackward0", "mat2"],
    "The gradient of the left operand is the gradient of the product times its transpose.",
    &["tools/autograd/derivatives.yaml: bmm", "aten/src/ATen/native/LinearAlgebra.cpp: matmul"],
);
const SOFTMAX: Rule = Rule::of_node(
    ["softmax", "result"],
    ["SoftmaxBackward0", "result"],
    "The gradient is computed from the shares.",
    &["tools/autograd/derivatives.yaml: _softmax"],
);

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
        SequenceOp::Embedding { .. } => {
            storages.keep_to_learn(input, &EMBEDDING);
            storages.allocate(name, bytes)
        }
        SequenceOp::Conv1d { .. } => {
            storages.keep(input, &CONVOLUTION);
            storages.allocate(name, bytes)
        }
        SequenceOp::Gelu => {
            storages.keep(input, &GELU);
            storages.allocate(name, bytes)
        }
        SequenceOp::AddEmbedding { .. } => {
            storages.allocate_kept_to_learn(name, out.size() * I64, &ADD_EMBEDDING);
            input
        }
        SequenceOp::OneHot { .. } | SequenceOp::ConcatFeatures => storages.allocate(name, bytes),
        // `max_pool1d` (aten/src/ATen/native/Pooling.cpp) hands over to `max_pool2d_with_indices`.
        SequenceOp::MaxPool1d { .. } => {
            storages.keep(input, &MAX_POOL);
            storages.allocate_kept(name, batch * out.elements() * I64, &MAX_POOL_INDICES);
            storages.allocate(name, bytes)
        }
        SequenceOp::Lstm { from, to, layers } => left_by_lstm(storages, [from, to, layers], name, reads[0], out, batch),
        SequenceOp::Gru { .. } => left_by_gru(storages, name, reads, out, batch),
        SequenceOp::LayerNorm { .. } => {
            storages.keep(input, &LAYER_NORM);
            storages.allocate_kept(name, batch * out.places() * F32, &LAYER_NORM_MEAN);
            storages.allocate_kept(name, batch * out.places() * F32, &LAYER_NORM_DEVIATION);
            storages.allocate(name, bytes)
        }
        // A copy in the other order, unless that is the same order.
        SequenceOp::SplitHeads { .. } | SequenceOp::MergeHeads => {
            let of_heads = if op == SequenceOp::MergeHeads { reads[0].shape } else { out };
            match of_heads {
                Shape::Heads { heads: 1, .. } | Shape::Heads { length: 1, .. } => input,
                _ => storages.allocate(name, bytes),
            }
        }
        // Views of the operands as batches of matrices. Each is kept for the gradient of the other.
        SequenceOp::Scores { .. } | SequenceOp::Weigh => {
            if reads[1].needs_gradient {
                storages.keep(input, &MATMUL_LEFT);
            }
            if reads[0].needs_gradient {
                storages.keep(reads[1].storage, &MATMUL_RIGHT);
            }
            storages.allocate(name, bytes)
        }
        SequenceOp::Softmax => storages.allocate_kept(name, bytes, &SOFTMAX),
    }
}

/// Whether the stage leaves a sequence with its places first in memory. With one text or one place, there is one order.
pub(super) fn leaves_places_first(op: SequenceOp, out: Shape, batch: u64) -> bool {
    matches!(op, SequenceOp::Lstm { .. } | SequenceOp::Gru { .. }) && batch > 1 && out.size() > 1
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
