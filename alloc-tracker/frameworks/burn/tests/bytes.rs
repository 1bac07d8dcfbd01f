//! The bytes of the program's run, by layer and category, beside those that follow from the shapes.
//!
//! The network, for a batch of 32 images of 28 x 28 values, 4 bytes each: two convolutions of 3 x 3 to 16 and to 32 maps,
//! each with a ReLU and halved by pooling, then 32 x 7 x 7 = 1,568 values to 64 and to 10.
use std::collections::BTreeMap;
use std::sync::LazyLock;

use alloc_timeline::{Category, NONE};
use recorded::Recorded;

static RUN: LazyLock<Recorded> =
    LazyLock::new(|| Recorded::run(env!("CARGO_BIN_EXE_burn-network"), env!("CARGO_TARGET_TMPDIR")));

/// Bytes of the weights and the bias of each layer, of which the storages are labelled. The bias of `fc2` has 40 bytes, too
/// few for a label.
const PARAMETERS: [(&str, u64); 4] = [
    ("conv1", 4 * (16 * 9 + 16)),
    ("conv2", 4 * (32 * 16 * 9 + 32)),
    ("fc1", 4 * (64 * 1_568 + 64)),
    ("fc2", 4 * (10 * 64)),
];
/// Bytes of one map of each of the 32 images, at the three sizes.
const MAP: [u64; 3] = [32 * 28 * 28 * 4, 32 * 14 * 14 * 4, 32 * 7 * 7 * 4];

/// Labelled after the backward pass, parameters are still told at the end of the step: the optimizer has written into
/// the storages that were there.
#[test]
fn parameters_and_their_gradients_have_four_bytes_a_value() {
    let expected = BTreeMap::from(PARAMETERS);
    for mark in ["end of forward", "end of backward", "end of step"] {
        assert_eq!(RUN.by_layer(mark, Category::Parameter), expected, "{mark}");
    }
    assert_eq!(RUN.by_layer("end of backward", Category::Gradient), expected);
    assert_eq!(RUN.by_layer("end of step", Category::Gradient), BTreeMap::new(), "the optimizer consumes them");
}

/// Adam keeps two values for each of a parameter, in the layer whose part of the optimizer made them.
#[test]
fn optimizer_state_is_twice_the_parameters() {
    let expected = BTreeMap::from(PARAMETERS.map(|(layer, bytes)| (layer, 2 * bytes)));
    assert_eq!(RUN.by_layer("end of step", Category::OptimizerState), expected);
}

/// 32 images and 32 numbers of classes. They have no layer: the program makes them outside of the network.
#[test]
fn a_batch_is_input() {
    let expected = BTreeMap::from([(NONE, 32 * 784 * 4 + 32 * 4)]);
    assert_eq!(RUN.by_layer("end of forward", Category::Input), expected);
}

/// What each module made, all of which some operation after it keeps for the backward pass; a bias is added in place, and
/// flattening makes a view of what `pool2` made. burn lets all of it go as the backward pass consumes it.
#[test]
fn activations_are_what_each_module_makes() {
    let expected = BTreeMap::from([
        ("conv1", 16 * MAP[0]),
        ("relu1", 16 * MAP[0]),
        ("pool1", 16 * MAP[1]),
        ("conv2", 32 * MAP[1]),
        ("relu2", 32 * MAP[1]),
        ("pool2", 32 * MAP[2]),
        ("fc1", 32 * 64 * 4),
        ("relu3", 32 * 64 * 4),
        ("fc2", 32 * 10 * 4),
    ]);
    assert_eq!(RUN.by_layer("end of forward", Category::Activation), expected);
    assert_eq!(RUN.by_layer("end of backward", Category::Activation), BTreeMap::new());
}

/// Pooling keeps the place of each largest value, 4 bytes for each value that it makes. The program does not see that
/// tensor, so it has no label; it has its layer.
#[test]
fn what_an_operation_keeps_inside_has_its_layer() {
    let found = RUN.unlabelled("end of forward", "forward");
    for (layer, places) in [("pool1", 16 * MAP[1]), ("pool2", 32 * MAP[2])] {
        let beside = found[layer] - places;
        assert!(beside < 4_096, "{layer}: {beside} bytes beside the places, nodes of the graph");
    }
}

/// What the backward pass allocates has its phase and no layer. Gradients get theirs by their labels: those scopes own
/// bytes, but nothing was allocated in them.
#[test]
fn the_backward_pass_has_a_phase_and_no_layer() {
    let allocated = RUN.allocations("backward");
    let layers = ["conv1", "conv2", "fc1", "fc2"].map(|layer| (layer, 0));
    let (none, with_layer): (Vec<_>, Vec<_>) = allocated.into_iter().partition(|(layer, _)| *layer == NONE);
    assert_eq!(with_layer, layers);
    assert!(none[0].1 > 0, "{none:?}");
}

#[test]
fn the_network_learns() {
    assert_eq!(RUN.losses.len(), 8);
    assert!(RUN.losses[7] < RUN.losses[0], "{:?}", RUN.losses);
}
