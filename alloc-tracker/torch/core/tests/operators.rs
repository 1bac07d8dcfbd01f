//! Which operator, layer and phase are active in made-up operators, forward and backward.
mod made_up;

use alloc_tracker::Category;
use made_up::Thread;

const NOTHING: [&str; 3] = ["", "", ""];

#[test]
fn a_nested_operator_changes_nothing() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    TRACKER.enters("forward", "conv1");
    thread.forward("aten::conv2d", 0, ["forward", "conv1", "aten::conv2d"]);
    thread.forward("aten::convolution", 0, ["forward", "conv1", "aten::conv2d"]);
    thread.forward("aten::empty", -1, ["forward", "conv1", "aten::conv2d"]);
    thread.ends();
    thread.ends();
    assert_eq!(TRACKER.scope(), ["forward", "conv1", "aten::conv2d"], "the outermost still runs");
    thread.ends();
    assert_eq!(TRACKER.scope(), ["forward", "conv1", ""]);
    thread.forward("aten::relu", 1, ["forward", "conv1", "aten::relu"]);
    thread.ends();
    assert_eq!(TRACKER.state().calls, [1, 2], "the two outermost operators are calls of their own, numbered from 1");
}

/// Autocast has a convolution make a copy of its weight, and is switched off within: the copy is told apart, and is part of the
/// convolution's call. A batch norm is none of the operators that autocast changes, so it still looks within; and without
/// autocast nothing is told apart.
#[test]
fn a_conversion_that_autocast_asks_for_is_told_apart() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    let conv = ["forward", "conv1", "aten::conv2d"];
    TRACKER.enters("forward", "conv1");
    thread.autocasts("aten::conv2d", 0, conv);
    thread.forward("aten::to", 0, conv);
    thread.forward("aten::_to_copy", 0, ["forward", "conv1", "aten::_to_copy"]);
    thread.forward("aten::empty", -1, ["forward", "conv1", "aten::_to_copy"]);
    thread.ends();
    thread.ends();
    assert_eq!(TRACKER.scope(), conv);
    thread.ends();
    thread.forward("aten::convolution", 1, conv);
    thread.ends();
    thread.ends();
    assert_eq!(TRACKER.scope(), ["forward", "conv1", ""]);
    assert_eq!(TRACKER.state().calls, [1, 1], "one call");
    let norm = ["forward", "conv1", "aten::batch_norm"];
    thread.autocasts("aten::batch_norm", 2, norm);
    thread.autocasts("aten::_to_copy", -1, norm);
    thread.ends();
    thread.ends();
    thread.forward("aten::mul", 3, ["forward", "conv1", "aten::mul"]);
    thread.forward("aten::_to_copy", -1, ["forward", "conv1", "aten::mul"]);
    thread.ends();
    thread.ends();
    assert_eq!(TRACKER.state().calls, [1, 1, 2, 3]);
}

/// Each operator tells at its end what none around it reads, while the outermost one is still active. The engine's own event
/// reads nothing.
#[test]
fn operators_tell_at_their_ends_what_they_read() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    let conv = ["", "", "aten::conv2d"];
    thread.reads("aten::conv2d", 0, &[0x1000, 0x2000], conv);
    thread.reads("aten::view", -1, &[0x1000], conv);
    thread.ends();
    thread.reads("aten::copy_", -1, &[0x3000, 0x1000], conv);
    thread.ends();
    thread.reads("aten::mm", -1, &[0x3000, 0x1000], conv);
    assert_eq!(TRACKER.state().read, [], "nobody has ended that reads");
    thread.ends();
    let read = |address: usize| (address, "aten::conv2d".to_owned());
    assert_eq!(TRACKER.state().read, [read(0x3000)]);
    thread.ends();
    assert_eq!(TRACKER.state().read, [read(0x3000), read(0x1000), read(0x2000)]);
    thread.reads("autograd::engine::evaluate_function: ReluBackward0", -1, &[0x1000], NOTHING);
    thread.ends();
    assert_eq!(TRACKER.state().read.len(), 3);
    assert_eq!(TRACKER.scope(), NOTHING, "no layer is looked up by inputs when none was named");
}

/// Nested deeper than anybody counts, an operator tells at its start.
#[test]
fn an_operator_that_is_nested_too_deep_tells_what_it_reads_all_the_same() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    for storage in 1..=200 {
        thread.reads("aten::add", -1, &[storage], ["", "", "aten::add"]);
    }
    assert_eq!(TRACKER.state().read.len(), 200 - 128);
    (0..200).for_each(|_| thread.ends());
    assert_eq!(TRACKER.state().read.len(), 200);
}

/// The table at the head of `attribution.rs`, line by line, with the program in no phase.
#[test]
fn a_backward_pass() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    TRACKER.enters("forward", "layer1.relu");
    thread.forward("aten::relu", 17, ["forward", "layer1.relu", "aten::relu"]);
    thread.ends();
    TRACKER.allocates(4096, "layer1.conv");
    TRACKER.enters("", "");

    // The engine is no operator.
    thread.forward("autograd::engine::evaluate_function: ReluBackward0", -1, NOTHING);
    // The node of number 17 is of the layer of operator 17; the phase is backward, derived, since the program names none.
    thread.node("ReluBackward0", (1, 17), ["backward (derived)", "layer1.relu", "ReluBackward0"]);
    thread.forward("aten::threshold_backward", -1, ["backward (derived)", "layer1.relu", "ReluBackward0"]);
    thread.ends();
    thread.ends();
    // The sum of two gradients is of the layer of the node before. It is a forward operator, of the backward pass all the same.
    thread.forward("aten::add_", -1, ["backward (derived)", "layer1.relu", "aten::add_"]);
    thread.ends();
    thread.ends();
    assert_eq!(TRACKER.scope(), NOTHING);

    thread.forward("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", -1, NOTHING);
    // It has no number: its layer is the one in which its parameter was allocated.
    thread.accumulates(4096, ["backward (derived)", "layer1.conv", "torch::autograd::AccumulateGrad"]);
    thread.leaves_gradient(8192);
    thread.ends();
    assert_eq!(TRACKER.scope(), NOTHING);
    assert_eq!(TRACKER.state().labels, [(8192, Category::Gradient, None)], "the gradient keeps the layer that made it");
}

#[test]
fn the_programs_phase_wins() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    TRACKER.enters("loss", "");
    thread.node("ReluBackward0", (1, 17), ["loss", "", "ReluBackward0"]);
    thread.ends();
}

#[test]
fn a_node_finds_its_operators_layer_from_any_thread() {
    attribution!(TRACKER, ATTRIBUTION);
    let (first, second) = (Thread::new(&ATTRIBUTION, &TRACKER, 1), Thread::new(&ATTRIBUTION, &TRACKER, 2));
    TRACKER.enters("", "of the first");
    first.forward("aten::relu", 5, ["", "of the first", "aten::relu"]);
    first.ends();
    TRACKER.enters("", "of the second");
    second.forward("aten::relu", 5, ["", "of the second", "aten::relu"]);
    second.ends();
    TRACKER.enters("", "");
    // The thread that counted the number tells the two operators of number 5 apart, not the one that runs the node.
    let engine = Thread::new(&ATTRIBUTION, &TRACKER, 3);
    engine.node("ReluBackward0", (1, 5), ["backward (derived)", "of the first", "ReluBackward0"]);
    engine.ends();
    engine.node("ReluBackward0", (2, 5), ["backward (derived)", "of the second", "ReluBackward0"]);
    engine.ends();
}

/// Operators within one another are given the same number, and the innermost makes the node.
#[test]
fn the_last_operator_of_a_number_counts() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    TRACKER.enters("", "outer");
    thread.forward("aten::linear", 9, ["", "outer", "aten::linear"]);
    TRACKER.enters("", "inner");
    thread.forward("aten::addmm", 9, ["", "inner", ""]);
    thread.ends();
    thread.ends();
    thread.node("AddmmBackward0", (1, 9), ["backward (derived)", "inner", "AddmmBackward0"]);
    thread.ends();
}

#[test]
fn what_is_not_remembered_is_of_the_layer_of_the_node_before() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    TRACKER.enters("", "fc1");
    thread.forward("aten::addmm", 3, ["", "fc1", "aten::addmm"]);
    thread.ends();
    // 131,072 numbers later its place in the table is another's.
    TRACKER.enters("", "fc2");
    thread.forward("aten::addmm", 3 + 131_072, ["", "fc2", "aten::addmm"]);
    thread.ends();
    TRACKER.enters("", "");
    thread.node("AddmmBackward0", (1, 3), ["backward (derived)", "", "AddmmBackward0"]);
    thread.ends();
    thread.node("AddmmBackward0", (1, 3 + 131_072), ["backward (derived)", "fc2", "AddmmBackward0"]);
    thread.ends();
    thread.node("AddmmBackward0", (1, 3), ["backward (derived)", "fc2", "AddmmBackward0"]);
    thread.ends();
    // A node without a number, of an operator that libtorch does not number.
    thread.node("Custom", (1, -1), ["backward (derived)", "fc2", "Custom"]);
    thread.ends();
}

#[test]
fn the_engine_forgets_the_layer_of_the_node_before() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    TRACKER.enters("", "fc1");
    thread.forward("aten::addmm", 3, ["", "fc1", "aten::addmm"]);
    thread.ends();
    TRACKER.enters("", "");
    thread.forward("autograd::engine::evaluate_function: AddmmBackward0", -1, NOTHING);
    thread.node("AddmmBackward0", (1, 3), ["backward (derived)", "fc1", "AddmmBackward0"]);
    thread.ends();
    thread.ends();
    // The next event of the engine may have nothing to do with the one before. What it runs is of the backward pass, also
    // on a thread of its own, which the program gave no phase.
    thread.forward("autograd::engine::evaluate_function: Custom", -1, NOTHING);
    thread.forward("aten::add_", -1, ["backward (derived)", "", "aten::add_"]);
}

/// A custom function may run a backward pass within its own backward call.
#[test]
fn a_node_within_a_node_has_its_own_scope() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    TRACKER.enters("", "fc1");
    thread.forward("aten::addmm", 3, ["", "fc1", "aten::addmm"]);
    thread.ends();
    TRACKER.enters("", "");
    thread.node("Checkpoint", (1, -1), ["backward (derived)", "", "Checkpoint"]);
    thread.forward("aten::mul", -1, ["backward (derived)", "", "Checkpoint"]);
    thread.node("AddmmBackward0", (1, 3), ["backward (derived)", "fc1", "AddmmBackward0"]);
    thread.ends();
    assert_eq!(TRACKER.scope(), ["backward (derived)", "", "Checkpoint"]);
    thread.ends();
    thread.forward("aten::mul", -1, ["backward (derived)", "", "Checkpoint"]);
    thread.ends();
    thread.ends();
    assert_eq!(TRACKER.scope(), NOTHING);
}

#[test]
fn operators_that_are_too_deep_belong_to_the_one_around_them() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    thread.forward("aten::outermost", 0, ["", "", "aten::outermost"]);
    for _ in 1..128 {
        thread.forward("aten::nested", -1, ["", "", "aten::outermost"]);
    }
    // 128 run. A node would have a scope of its own, but the 129th operator is not looked at; nor is its number.
    thread.node("ReluBackward0", (1, 0), ["", "", "aten::outermost"]);
    TRACKER.enters("", "deep");
    thread.forward("aten::relu", 7, ["", "deep", ""]);
    // That an AccumulateGrad node leaves a gradient counts at any depth.
    thread.leaves_gradient(4096);
    assert_eq!(TRACKER.state().labels, [(4096, Category::Gradient, None)]);
    (0..129).for_each(|_| thread.ends());
    assert_eq!(TRACKER.scope(), NOTHING);
    thread.node("ReluBackward0", (1, 7), ["backward (derived)", "", "ReluBackward0"]);
    thread.ends();
    thread.forward("aten::relu", 1, ["", "", "aten::relu"]);
    assert_eq!(TRACKER.state().calls, [1, 2, 3], "after as many ends as starts the next operator is outermost again");
}

/// Watching may begin while operators run.
#[test]
fn an_end_without_a_start_is_passed_over() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    TRACKER.enters("forward", "conv1");
    thread.leaves_gradient(4096);
    assert_eq!(TRACKER.scope(), ["forward", "conv1", ""]);
    assert_eq!(TRACKER.state().labels, []);
    thread.forward("aten::relu", 0, ["forward", "conv1", "aten::relu"]);
}

/// What `torch.compile` made is told as an operator with the numbers of the frame: it is a layer as well, in the module that runs it, and
/// beside a region that it runs in. Its backward pass, one node, belongs to it.
#[test]
fn a_compiled_region_is_a_layer() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    let region = "Torch-Compiled Region: 0/1";
    TRACKER.enters("forward", "encoder");
    thread.forward(region, -1, ["forward", "encoder.compiled 0/1", region]);
    thread.forward("CompiledFunction", 5, ["forward", "encoder.compiled 0/1", region]);
    thread.ends();
    let inner = "Torch-Compiled Region: 2/0";
    thread.forward(inner, -1, ["forward", "encoder.compiled 2/0", inner]);
    thread.ends();
    assert_eq!(TRACKER.scope(), ["forward", "encoder.compiled 0/1", region]);
    thread.ends();
    assert_eq!(TRACKER.scope(), ["forward", "encoder", ""]);
    TRACKER.enters("backward", "");
    thread.node("CompiledFunctionBackward", (1, 5), ["backward", "encoder.compiled 0/1", "CompiledFunctionBackward"]);
    thread.ends();
    // In no module; and as versions before 2.5 name it.
    TRACKER.enters("", "");
    thread.forward(region, -1, ["", "compiled 0/1", region]);
    thread.ends();
    thread.forward("Torch-Compiled Region", -1, ["", "compiled", "Torch-Compiled Region"]);
    thread.ends();
    assert_eq!(TRACKER.state().calls, [1, 2, 3, 4, 5]);
}

#[test]
fn a_path_that_is_too_long_leaves_the_regions_word() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    TRACKER.enters("forward", &"a".repeat(512));
    thread.forward("Torch-Compiled Region: 0/0", -1, ["forward", "compiled", "Torch-Compiled Region: 0/0"]);
}
