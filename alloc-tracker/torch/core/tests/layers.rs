//! Layers by parameters, and what the labels of variables say.
mod made_up;

use alloc_torch_core::{Gradient, Storage};
use alloc_tracker::Category;

const WEIGHT: usize = 0x1000;
const BIAS: usize = 0x2000;
const MEAN: usize = 0x3000;
const INPUT: usize = 0x4000;
const HIDDEN: usize = 0x5000;

#[test]
fn an_operator_is_of_the_layer_whose_parameter_it_reads() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    ATTRIBUTION.name_layers([("fc1.weight", Storage::at(WEIGHT)), ("fc2.0.weight", Storage::at(BIAS))]);
    TRACKER.allocates(INPUT, "data");
    TRACKER.allocates(HIDDEN, "");
    TRACKER.enters("forward", "");

    // A parameter wins over the layer that allocated an input, wherever it stands.
    thread.reads("aten::linear", 0, &[INPUT, WEIGHT], ["forward", "fc1", "aten::linear"]);
    // What runs within it has the layer already.
    thread.reads("aten::t", -1, &[BIAS], ["forward", "fc1", "aten::linear"]);
    thread.ends();
    thread.ends();
    // Of two parameters the first counts.
    thread.reads("aten::linear", 1, &[BIAS, WEIGHT], ["forward", "fc2.0", "aten::linear"]);
    thread.ends();
    // Without a parameter: the layer that allocated an input. A storage of no layer is passed over, as is one that is
    // not tracked.
    thread.reads("aten::relu", 2, &[0x9000, HIDDEN, INPUT], ["forward", "data", "aten::relu"]);
    thread.ends();
    thread.reads("aten::relu", 3, &[0x9000, HIDDEN], ["forward", "", "aten::relu"]);
    thread.ends();
    // The backward pass has the layers that were found forward.
    thread.node("AddmmBackward0", (1, 0), ["forward", "fc1", "AddmmBackward0"]);
    thread.ends();
}

#[test]
fn the_programs_layers_win() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    ATTRIBUTION.name_layers([("fc1.weight", Storage::at(WEIGHT))]);
    TRACKER.enters("forward", "head");
    thread.reads("aten::linear", 0, &[WEIGHT], ["forward", "head", "aten::linear"]);
}

/// What the engine runs itself is of the node before, whatever it reads.
#[test]
fn the_engines_own_operators_do_not_look_at_inputs() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    ATTRIBUTION.name_layers([("fc1.weight", Storage::at(WEIGHT))]);
    thread.forward("autograd::engine::evaluate_function: AddmmBackward0", -1, ["", "", ""]);
    thread.reads("aten::add_", -1, &[WEIGHT], ["backward (derived)", "", "aten::add_"]);
}

/// A face need not tell of operators within others, nor what the engine's events are called.
#[test]
fn what_is_not_told_is_of_the_layer_around_it() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    TRACKER.enters("forward", "fc1");
    thread.forward("aten::linear", 10, ["forward", "fc1", "aten::linear"]);
    // Its nodes: `aten::t` made number 10, `aten::addmm` number 11.
    ATTRIBUTION.nodes_were_made(1, 10..12);
    thread.ends();
    TRACKER.enters("forward", "relu");
    thread.forward("aten::relu", 12, ["forward", "relu", "aten::relu"]);
    ATTRIBUTION.nodes_were_made(1, 12..13);
    thread.ends();

    TRACKER.enters("backward", "");
    for (node, number, layer) in
        [("ReluBackward0", 12, "relu"), ("AddmmBackward0", 11, "fc1"), ("TBackward0", 10, "fc1")]
    {
        ATTRIBUTION.engine_starts(&thread.stack);
        thread.forward("aten::pre_hook", -1, ["backward", "", "aten::pre_hook"]);
        thread.ends();
        thread.node(node, (1, number), ["backward", layer, node]);
        thread.ends();
        thread.forward("aten::sum", -1, ["backward", layer, "aten::sum"]);
        thread.ends();
        thread.ends();
    }
    thread.forward("aten::sum", -1, ["backward", "", "aten::sum"]);
}

/// No layer is named here and none is active: an optimizer's operator is of the layer whose parameter or gradient it reads.
/// In any other phase such an operator has no layer.
#[test]
fn an_optimizers_operator_is_of_its_parameters_layer() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    TRACKER.allocates(WEIGHT, "fc1");
    TRACKER.allocates(HIDDEN, "fc2");
    let layers = ["fc1", "fc2"];
    let none = ["", ""];
    for (phase, layers) in
        [("optimizer", layers), ("generator/optimizer", layers), ("forward", none), ("optimizers", none)]
    {
        TRACKER.enters(phase, "");
        for (storage, layer) in [WEIGHT, HIDDEN].into_iter().zip(layers) {
            thread.reads("aten::zeros_like", -1, &[storage], [phase, layer, "aten::zeros_like"]);
            thread.ends();
        }
    }
    // The program's layers win here as well.
    TRACKER.enters("optimizer", "all");
    thread.reads("aten::zeros_like", -1, &[WEIGHT], ["optimizer", "all", "aten::zeros_like"]);
}

#[test]
fn a_gradient_is_of_its_parameters_layer() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    // As its path names it, even if it was allocated in another.
    ATTRIBUTION.name_layers([("fc1.weight", Storage::at(WEIGHT))]);
    TRACKER.allocates(WEIGHT, "init");
    thread.accumulates(WEIGHT, ["backward (derived)", "fc1", "torch::autograd::AccumulateGrad"]);
    thread.ends();
    // One that no path names: the layer that allocated it.
    TRACKER.allocates(BIAS, "fc2");
    thread.accumulates(BIAS, ["backward (derived)", "fc2", "torch::autograd::AccumulateGrad"]);
    thread.ends();
    // One of which nothing is known, or that has no storage: the layer of the node before.
    thread.accumulates(HIDDEN, ["backward (derived)", "fc2", "torch::autograd::AccumulateGrad"]);
    thread.ends();
    thread.accumulates(0, ["backward (derived)", "fc2", "torch::autograd::AccumulateGrad"]);
    thread.ends();
}

#[test]
fn variables_are_parameters_or_buffers() {
    attribution!(TRACKER, ATTRIBUTION);
    let variables = [("bn1.weight", Storage::at(WEIGHT)), ("bn1.running_mean", Storage::at(MEAN)), ("undefined", None)];
    ATTRIBUTION.label_variables(variables, &[Storage::at(WEIGHT)]);
    let layer = || Some("bn1".to_owned());
    assert_eq!(
        TRACKER.state().labels,
        [(WEIGHT, Category::Parameter, layer()), (MEAN, Category::Buffer, layer())],
        "a variable without a storage has nothing to label"
    );
}

/// `half()`, `to()` and `set_data` give a parameter another storage. Its tensor stays, and the old storage is nobody's.
#[test]
fn a_parameter_keeps_its_layer_when_it_moves() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    let storage = |address| Storage::at(address).expect("an address");
    assert!(ATTRIBUTION.name_layer_of("fc1.weight", storage(WEIGHT), 1));
    assert!(!ATTRIBUTION.name_layer_of("fc1.weight", storage(WEIGHT), 1), "known already");
    ATTRIBUTION.name_layer_of("fc2.weight", storage(BIAS), 2);
    let linear = |taken: &[(usize, usize)], layer| {
        thread.takes("aten::linear", Gradient::NotTold, taken, ["", layer, "aten::linear"]);
    };
    linear(&[(INPUT, 9), (WEIGHT, 1)], "fc1");
    linear(&[(INPUT, 9), (HIDDEN, 1)], "fc1");
    // A view of it is another tensor of its storage.
    linear(&[(HIDDEN, 7)], "fc1");
    linear(&[(WEIGHT, 8)], "");
    // Its gradient follows, too.
    thread.accumulates(HIDDEN, ["backward (derived)", "fc1", "torch::autograd::AccumulateGrad"]);
    thread.ends();
    // Tied after all: two parameters of one storage, each in its layer.
    linear(&[(BIAS, 1)], "fc1");
    linear(&[(BIAS, 2)], "fc2");
}

/// A layer is said to be what its operator says, once; one that turns out to be two is nothing any more. An operator outside
/// of any layer, one of another kind and one without tensors say nothing.
#[test]
fn a_layer_is_what_its_operator_says() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    TRACKER.enters("", "conv1");
    let conv = |taken: &[(usize, usize)], layer| {
        thread.takes("aten::conv2d", Gradient::NotTold, taken, ["", layer, "aten::conv2d"]);
    };
    conv(&[(INPUT, 9), (WEIGHT, 1)], "conv1");
    conv(&[(INPUT, 8), (WEIGHT, 1)], "conv1");
    // The weight moved; and another time it is a view of the same storage.
    conv(&[(INPUT, 8), (HIDDEN, 1)], "conv1");
    conv(&[(INPUT, 8), (WEIGHT, 3)], "conv1");
    thread.takes("aten::relu", Gradient::NotTold, &[(INPUT, 8)], ["", "conv1", "aten::relu"]);
    let said = |layer: &str, kind: &str| (layer.to_owned(), kind.to_owned());
    assert_eq!(TRACKER.state().kinds, [said("conv1", "1x1 convolution of 8 channels")]);
    conv(&[(INPUT, 8), (BIAS, 2)], "conv1");
    conv(&[(INPUT, 8), (WEIGHT, 1)], "conv1");
    TRACKER.enters("", "");
    conv(&[(INPUT, 8), (WEIGHT, 1)], "");
    assert_eq!(TRACKER.state().kinds[1..], [said("conv1", "")]);
}
