//! The bytes of the program's run, by layer and category, beside those that follow from the shapes.
//!
//! The network, for a batch of 32 images of 28 x 28 values, 4 bytes each: two convolutions of 3 x 3 to 16 and to 32 maps,
//! each with a ReLU and halved by pooling, then 32 x 7 x 7 = 1,568 values to 64 and to 10.
use std::collections::BTreeMap;
use std::sync::LazyLock;

use alloc_timeline::{Category, NONE};
use recorded::Recorded;

static RUN: LazyLock<Recorded> =
    LazyLock::new(|| Recorded::run(env!("CARGO_BIN_EXE_candle-network"), env!("CARGO_TARGET_TMPDIR")));

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

#[test]
fn parameters_and_their_gradients_have_four_bytes_a_value() {
    let expected = BTreeMap::from(PARAMETERS);
    for mark in ["end of forward", "end of backward", "end of step"] {
        assert_eq!(RUN.by_layer(mark, Category::Parameter), expected, "{mark}");
    }
    assert_eq!(RUN.by_layer("end of backward", Category::Gradient), expected);
    assert_eq!(RUN.by_layer("end of step", Category::Gradient), BTreeMap::new(), "the program lets them go");
}

/// 32 images and 32 numbers of classes. They have no layer: the program makes them outside of the network.
#[test]
fn a_batch_is_input() {
    let expected = BTreeMap::from([(NONE, 32 * 784 * 4 + 32 * 4)]);
    assert_eq!(RUN.by_layer("end of forward", Category::Input), expected);
}

/// candle keeps what every operation makes until the graph goes. A layer with a bias is two operations of the same size;
/// flattening makes a view. The loss makes six tensors of 32 x 10 or 32 values, and two single ones that are too small for
/// a label.
#[test]
fn activations_are_what_each_operation_makes() {
    let mut expected = BTreeMap::from([
        ("conv1", 2 * 16 * MAP[0]),
        ("relu1", 16 * MAP[0]),
        ("pool1", 16 * MAP[1]),
        ("conv2", 2 * 32 * MAP[1]),
        ("relu2", 32 * MAP[1]),
        ("pool2", 32 * MAP[2]),
        ("fc1", 2 * 32 * 64 * 4),
        ("relu3", 32 * 64 * 4),
        ("fc2", 2 * 32 * 10 * 4),
        // Differences to the largest, their powers, and their logarithms; the largest, the sums of the powers, their
        // logarithms, and the logarithm for the image's class.
        ("loss", 3 * 32 * 10 * 4 + 4 * 32 * 4),
    ]);
    assert_eq!(RUN.by_layer("end of forward", Category::Activation), expected);
    // The gradient of the images, which candle computes although nobody asks for it, and keeps with the others.
    expected.insert(NONE, 32 * 784 * 4);
    assert_eq!(RUN.by_layer("end of backward", Category::Activation), expected);
    assert_eq!(RUN.by_layer("end of step", Category::Activation), BTreeMap::new(), "the loss held the graph");
}

/// Adam keeps two values for each of a parameter. They are in their layer, and told from others by the phase alone, so the
/// sums hold candle's own blocks around them as well. Those depend on the numbers of dimensions only, so two layers of one
/// kind differ by their state alone.
#[test]
fn optimizer_state_is_in_its_layer() {
    let found = RUN.unlabelled("end of step", "optimizer state");
    let parameters = BTreeMap::from(PARAMETERS);
    let of = |layer: &str| 2 * parameters[layer];
    assert_eq!(found["conv2"] - found["conv1"], of("conv2") - of("conv1"));
    // The bias of `fc2`, 40 bytes, has a state as well.
    assert_eq!(found["fc1"] - found["fc2"], of("fc1") - of("fc2") - 2 * 40);
    for (layer, bytes) in found.iter().filter(|(layer, _)| **layer != NONE) {
        let state = of(layer) + if *layer == "fc2" { 2 * 40 } else { 0 };
        assert!(*bytes > state && *bytes < state + 4_096, "{layer}: {bytes} for a state of {state}");
    }
}

/// candle computes the gradient of a convolution's weights as a convolution of what went in with the gradient of what came
/// out. It notes that operation in the result, as in the forward pass, and so the gradient of `conv2` holds what went into
/// it, and the graph before that. `conv1` read the images, which have no graph.
#[test]
fn gradients_hold_the_activations_that_they_were_computed_from() {
    let expected = BTreeMap::from([
        ("conv1", 2 * 16 * MAP[0]),
        ("relu1", 16 * MAP[0]),
        ("pool1", 16 * MAP[1]),
        (NONE, 32 * 784 * 4),
    ]);
    assert_eq!(RUN.by_layer("end of optimizer", Category::Activation), expected, "the loss is gone by then");
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
