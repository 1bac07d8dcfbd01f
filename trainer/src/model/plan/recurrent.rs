//! What recurrent layers keep: long short-term memory as one operator of oneDNN's, gated recurrent units as many operators a
//! place.
//!
//! N texts have L places, a state has H features of 4 bytes. Both layers take the places first, so they copy their input into
//! that order, unless there is one text or one place, and leave their output in it.
use super::rule::Rule;
use super::storage::{Read, Storages};
use super::workspace;
use crate::model::shape::{F32, Shape};

const LSTM_INPUT: Rule = Rule::of_node(
    ["lstm", "input"],
    ["MkldnnRnnLayerBackward0", "input"],
    "The gradient of the weights is computed from it; of each layer behind the first it is the output of the one before.",
    &["tools/autograd/derivatives.yaml: mkldnn_rnn_layer"],
);
const LSTM_INPUT_COPY: Rule = Rule::of_node(
    ["lstm", "copy of the input"],
    ["MkldnnRnnLayerBackward0", "input"],
    "oneDNN takes the places first, so the input is copied into that order; the gradient of the weights is computed from it.",
    &["tools/autograd/derivatives.yaml: mkldnn_rnn_layer", "aten/src/ATen/native/mkldnn/RNN.cpp: mkldnn_rnn"],
);
const LSTM_FIRST_STATES: Rule = Rule::of_node(
    ["lstm", "first states"],
    ["MkldnnRnnLayerBackward0", "hx_"],
    "The hidden state and the cell from which it starts, zeroes: parts of one storage for all layers.",
    &["tools/autograd/derivatives.yaml: mkldnn_rnn_layer"],
);
const LSTM_OUTPUT: Rule = Rule::of_node(
    ["lstm", "result"],
    ["MkldnnRnnLayerBackward0", "result0"],
    "The hidden state of each place, from which the gradients of the gates are computed.",
    &["tools/autograd/derivatives.yaml: mkldnn_rnn_layer"],
);
const LSTM_LAST_STATES: Rule = Rule::of_node(
    ["lstm", "last states"],
    ["MkldnnRnnLayerBackward0", "result1"],
    "The last hidden state and, as result2, the last cell, where the backward pass through the places begins.",
    &["tools/autograd/derivatives.yaml: mkldnn_rnn_layer"],
);
const LSTM_WORKSPACE: Rule = Rule::of_node(
    ["lstm", "workspace"],
    ["MkldnnRnnLayerBackward0", "result3"],
    "oneDNN's: gates, states and cells of each place, and room for their gradients.",
    &[
        "aten/src/ATen/native/mkldnn/RNN.cpp: mkldnn_rnn_layer",
        "oneDNN, src/cpu/rnn/rnn_utils.cpp: set_offsets, and rnn_utils.hpp: set_workspace_sizes",
    ],
);
const GRU_INPUT: Rule = Rule::of_node(
    ["gru", "input"],
    ["AddmmBackward0", "mat1"],
    "The gradient of the weights over the input is computed from it.",
    &["tools/autograd/derivatives.yaml: addmm", "aten/src/ATen/native/RNN.cpp: FullLayer"],
);
const GRU_INPUT_COPY: Rule = Rule::of_node(
    ["gru", "copy of the input"],
    ["MmBackward0", "self"],
    "The input with its places first; the gradient of the weights over the input is computed from it.",
    &["tools/autograd/derivatives.yaml: mm", "aten/src/ATen/native/RNN.cpp: FullLayer"],
);
const GRU_FIRST_STATE: Rule = Rule::of_node(
    ["gru", "first state"],
    ["AddmmBackward0", "mat1"],
    "The gradient of the weights over the state is computed from it.",
    &["tools/autograd/derivatives.yaml: addmm", "aten/src/ATen/native/RNN.cpp: GRUCell"],
);
const GRU_GATES: Rule = Rule::of_node(
    ["gru", "gates of each place"],
    ["SigmoidBackward0", "result"],
    "Reset gate, input gate and the state's part of the proposal lie in one storage.",
    &["tools/autograd/derivatives.yaml: sigmoid", "aten/src/ATen/native/RNN.cpp: GRUCell"],
);
const GRU_STATES_PART: Rule = Rule::of_node(
    ["gru", "state's part of each place"],
    ["MulBackward0", "self"],
    "The gradient of the reset gate is a product with it. It is multiplied in place, so autograd copies it first.",
    &["tools/autograd/derivatives.yaml: mul.Tensor", "aten/src/ATen/native/RNN.cpp: GRUCell"],
);
const GRU_PROPOSAL: Rule = Rule::of_node(
    ["gru", "proposed state of each place"],
    ["TanhBackward0", "result"],
    "The derivative of tanh is 1 - result^2.",
    &["tools/autograd/derivatives.yaml: tanh", "aten/src/ATen/native/RNN.cpp: GRUCell"],
);
const GRU_DIFFERENCE: Rule = Rule::of_node(
    ["gru", "old state less the proposed one of each place"],
    ["MulBackward0", "self"],
    "The gradient of the input gate is a product with it. It is multiplied in place, so autograd copies it first.",
    &["tools/autograd/derivatives.yaml: mul.Tensor", "aten/src/ATen/native/RNN.cpp: GRUCell"],
);
const GRU_STATE: Rule = Rule::of_node(
    ["gru", "state of each place but the last"],
    ["AddmmBackward0", "mat1"],
    "The next place's weights over the state are multiplied with it. The last one only goes into the result.",
    &["tools/autograd/derivatives.yaml: addmm", "aten/src/ATen/native/RNN.cpp: GRUCell"],
);

/// The storage in which layers of LSTM, from features `from` to `to`, leave their map of shape `out`.
pub(super) fn left_by_lstm(
    storages: &mut Storages,
    [from, to, layers]: [u64; 3],
    name: &str,
    read: Read,
    out: Shape,
    batch: u64,
) -> usize {
    // One formula for all gradients of a layer, so a frozen one keeps as much.
    match is_copied(read, batch) {
        true => drop(storages.allocate_kept(name, batch * read.shape.bytes(), &LSTM_INPUT_COPY)),
        false => storages.keep(read.storage, &LSTM_INPUT),
    }
    storages.allocate_kept(name, 2 * layers * batch * to * F32, &LSTM_FIRST_STATES);
    let mut output = read.storage;
    for layer in 0..layers {
        let from = if layer == 0 { from } else { to };
        if layer > 0 {
            storages.keep(output, &LSTM_INPUT);
        }
        storages.allocate_kept(name, workspace::of_lstm(batch, out.size(), from, to), &LSTM_WORKSPACE);
        storages.allocate_kept(name, 2 * batch * to * F32, &LSTM_LAST_STATES);
        output = storages.allocate_kept(name, batch * out.bytes(), &LSTM_OUTPUT);
    }
    output
}

/// The storage in which a layer of GRU leaves its map of shape `out`. Its first state lies in the second map that it reads,
/// if there is one.
pub(super) fn left_by_gru(storages: &mut Storages, name: &str, reads: &[Read], out: Shape, batch: u64) -> usize {
    match is_copied(reads[0], batch) {
        true => storages.allocate_kept_to_learn(name, batch * reads[0].shape.bytes(), &GRU_INPUT_COPY),
        false => storages.keep_to_learn(reads[0].storage, &GRU_INPUT),
    }
    let (places, state) = (out.size(), batch * out.features() * F32);
    match reads.get(1) {
        Some(first_state) => storages.keep_to_learn(first_state.storage, &GRU_FIRST_STATE),
        None => storages.allocate_kept_to_learn(name, state, &GRU_FIRST_STATE),
    }
    // One storage a place; the plan has no use for them one by one.
    for (states, rule) in
        [(3 * places, &GRU_GATES), (places, &GRU_STATES_PART), (places, &GRU_PROPOSAL), (places, &GRU_DIFFERENCE)]
    {
        storages.allocate_kept(name, states * state, rule);
    }
    if places > 1 {
        storages.allocate_kept_to_learn(name, (places - 1) * state, &GRU_STATE);
    }
    storages.allocate(name, batch * out.bytes())
}

/// Whether a recurrent layer makes a copy of its input with the places first: unless it lies like that.
fn is_copied(input: Read, batch: u64) -> bool {
    !(input.places_first || batch == 1 || input.shape.size() == 1)
}
