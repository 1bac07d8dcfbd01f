//! What forward leaves for backward, by layer, in requested bytes: measured, computed here from the layers' shapes, and
//! planned by `trainer plan`. All three are equal to the byte.
//!
//! The arithmetic, with maps of 4-byte elements of `batch` images, and every map halved (rounded up) by a stride of 2:
//! a convolution's output is kept because batch norm keeps its input; a batch norm's output becomes its ReLU's, in
//! place, and ReLU keeps its result; batch norm keeps mean and 1/deviation, 8 bytes a channel. A batch norm whose
//! output is only added to the residual path keeps just those 8 bytes.
use std::collections::BTreeMap;

use alloc_timeline::Category;
use tests::{Config, TEXT_MODELS, command, requested, requested_by_layer, run, tables};

const MODELS: [&str; 2] = ["resnet18", "mobilenet_v1"];
/// Bytes an element, and bytes a channel of a batch norm.
const F32: u64 = 4;
const BN: u64 = 8;

type ByLayer = BTreeMap<String, u64>;

fn half(side: u64) -> u64 {
    side.div_ceil(2)
}

/// Log-probabilities of 1000 classes, the loss, and the total weight that it was divided by.
fn loss(batch: u64) -> u64 {
    batch * 1000 * F32 + F32 + F32
}

fn resnet18(batch: u64, side: u64) -> ByLayer {
    let mut saved = ByLayer::new();
    let map = |channels: u64, side: u64| batch * channels * side * side * F32;
    let mut side = half(side);
    saved.insert("conv1".into(), map(64, side));
    saved.insert("bn1".into(), map(64, side) + 64 * BN);
    side = half(side);
    // The output, 4 bytes an element, is the next convolution's input; the indices take 8.
    saved.insert("maxpool".into(), map(64, side) + 2 * map(64, side));
    for (group, channels) in [(1, 64), (2, 128), (3, 256), (4, 512)] {
        for block in 0..2 {
            let mut put = |name: &str, bytes| saved.insert(format!("layer{group}.{block}.{name}"), bytes);
            if group > 1 && block == 0 {
                side = half(side);
                put("downsample.0", map(channels, side));
                put("downsample.1", channels * BN);
            }
            for half_block in 1..=2 {
                put(&format!("conv{half_block}"), map(channels, side));
                put(&format!("bn{half_block}"), map(channels, side) + channels * BN);
            }
        }
    }
    saved.insert("avgpool".into(), batch * 512 * F32);
    saved.insert("loss".into(), loss(batch));
    saved
}

fn mobilenet_v1(batch: u64, side: u64) -> ByLayer {
    let mut saved = ByLayer::new();
    let mut side = half(side);
    let mut put = |block: usize, first: usize, channels: u64, side: u64| {
        let map = batch * channels * side * side * F32;
        saved.insert(format!("model.{block}.{first}"), map);
        saved.insert(format!("model.{block}.{}", first + 1), map + channels * BN);
    };
    put(0, 0, 32, side);
    let mut from = 32;
    for (block, to) in [64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024].into_iter().enumerate() {
        // Maps shrink in blocks 2, 4, 6 and 12, where the channels double, but for the first doubling.
        if to > from && block > 0 {
            side = half(side);
        }
        put(block + 1, 0, from, side);
        put(block + 1, 3, to, side);
        from = to;
    }
    saved.insert("model.14".into(), batch * 1024 * F32);
    saved.insert("loss".into(), loss(batch));
    saved
}

fn computed(model: &str, batch: u64, side: u64) -> ByLayer {
    if model == "resnet18" { resnet18(batch, side) } else { mobilenet_v1(batch, side) }
}

fn planned(model: &str, batch: u64, side: u64) -> serde_json::Value {
    let (batch, side) = (batch.to_string(), side.to_string());
    let size = if TEXT_MODELS.contains(&model) { "--length" } else { "--image-size" };
    let arguments = ["plan", "--json", "--model", model, "--batch", &batch, size, &side];
    let ran = run(command("trainer").args(arguments));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).expect("one JSON object")
}

/// Checks every step of one configuration, and gives the sum.
#[track_caller]
fn check(model: &'static str, batch: u64, side: u64, steps: u64) -> u64 {
    let expected = computed(model, batch, side);
    let sum = expected.values().sum::<u64>();
    let plan = planned(model, batch, side);
    let plan_by_layer: ByLayer = serde_json::from_value(plan["saved_for_backward"].clone()).expect("bytes by layer");
    assert_eq!(plan_by_layer, expected, "trainer plan, {model}, batch {batch}, {side} px");
    assert_eq!(plan["saved_bytes"], sum);

    let timeline = Config::train(model, batch, side, steps).run();
    let at_end_of_forward = tables(timeline, "end of forward");
    assert_eq!(at_end_of_forward.len(), steps as usize);
    for table in at_end_of_forward {
        let measured = requested_by_layer(timeline, table, Category::Activation);
        assert_eq!(measured, expected, "measured, {model}, batch {batch}, {side} px");
        // Each storage once: a map that two nodes keep (ReLU's result is the next convolution's input) is one block.
        assert_eq!(requested(table, Category::Activation), sum);
    }
    sum
}

/// 64 halves evenly down to 2; 97 is odd: 97 -> 49 -> 25 -> 13 -> 7 -> 4.
#[test]
fn bytes_by_layer_are_the_sums_from_shapes() {
    for model in MODELS {
        for batch in [2, 3] {
            for side in [64, 97] {
                check(model, batch, side, 2);
            }
        }
    }
}

/// The published element counts at 224, and MiB an image: the measured bytes less what does not grow with the batch
/// (8 bytes for each of the batch norms' channels, 8 for the loss and its weight), over the batch.
#[test]
fn mib_an_image_at_224() {
    for (model, elements, rest, channels, mib) in [
        // Convolution outputs and ReLU outputs; max pool's output and indices; fc's input; log-probabilities.
        ("resnet18", 2_483_712 + 2_308_096, 200_704 * (4 + 8) + 512 * 4 + 1000 * 4, 4_800, "20.582"),
        ("mobilenet_v1", 5_042_688 + 5_042_688, 1024 * 4 + 1000 * 4, 10_944, "38.480"),
    ] {
        let batch = 2;
        let an_image = (check(model, batch, 224, 2) - channels * BN - 2 * F32) / batch;
        assert_eq!(an_image, elements * F32 + rest, "{model}");
        assert_eq!(format!("{:.3}", an_image as f64 / f64::from(1 << 20)), mib, "{model}");
    }
}

/// Every network that the trainer has, at a small size: what a run keeps by layer at the ends of forward, backward and step is
/// what `trainer plan` says, with momentum (`trainer/tests/end_to_end/optimizers.rs` has the other optimizers). The two
/// above are computed here a third time; parameter counts and shapes of all are held to their references in
/// `trainer/src/model/name.rs`.
#[test]
fn every_network_keeps_what_its_plan_says() {
    // The smallest sides at which each layer still has something to do; 64 for the others. Of texts a few tokens, and what
    // Char-CNN is made for.
    let side = |model: &str| match model {
        "bert_base" | "bert_tiny" | "lstm" | "seq2seq" => 6,
        "char_cnn" => 1014,
        "lenet5" | "densenet40_12" | "densenet_bc100_12" | "vgg16" | "vgg19" => 32,
        "xception" => 97,
        "dqn" => 84,
        _ => 64,
    };
    let ran = run(command("trainer").args(["models", "--json"]));
    let listed: Vec<serde_json::Value> = serde_json::from_str(&ran.stdout).expect("an array");
    assert!(listed.len() >= 24, "{}", ran.stdout);
    for entry in &listed {
        let model: &'static str = entry["model"].as_str().expect("a name").to_owned().leak();
        let plan = planned(model, 2, side(model));
        let expected: ByLayer = serde_json::from_value(plan["saved_for_backward"].clone()).expect("bytes by layer");
        let timeline = Config::train(model, 2, side(model), 2).run();
        let tables = tables(timeline, "end of forward");
        assert_eq!(tables.len(), 2, "{model}");
        for table in tables {
            assert_eq!(requested_by_layer(timeline, table, Category::Activation), expected, "{model}");
            assert_eq!(requested(table, Category::Parameter), plan["parameter_bytes"], "{model}");
        }
        // Its two optimizers make their state one after the other, in the middle of a step: see `passes.rs`.
        if model != "dcgan" {
            at_the_ends(model, timeline, &plan);
        }
    }
}

/// What the plan says by layer of what is learned, against the tables of a run of two steps.
fn at_the_ends(model: &str, timeline: &alloc_timeline::Timeline, plan: &serde_json::Value) {
    let planned = |what: &str| -> ByLayer {
        let layers = plan["by_layer"].as_object().expect("layers").iter();
        let bytes = layers.map(|(layer, needs)| (layer.clone(), needs[what].as_u64().expect("bytes")));
        bytes.filter(|&(_, bytes)| bytes > 0).collect()
    };
    let (nothing, parameters, gradients) = (ByLayer::new(), planned("parameters"), planned("gradients"));
    let (buffers, state) = (planned("buffers"), planned("optimizer_state"));
    for (mark, gradients, states) in [
        ("end of forward", &nothing, [&nothing, &state]),
        ("end of backward", &gradients, [&nothing, &state]),
        ("end of step", &nothing, [&state, &state]),
    ] {
        for (step, (table, state)) in tables(timeline, mark).into_iter().zip(states).enumerate() {
            let found = |category| {
                let mut by_layer = requested_by_layer(timeline, table, category);
                by_layer.retain(|_, bytes| *bytes > 0);
                by_layer
            };
            let place = format!("{model}, {mark}, step {}", step + 1);
            assert_eq!(found(Category::Parameter), parameters, "{place}");
            assert_eq!(found(Category::Buffer), buffers, "{place}");
            assert_eq!(&found(Category::Gradient), gradients, "{place}");
            assert_eq!(&found(Category::OptimizerState), state, "{place}");
        }
    }
}

/// Recurrent layers and attention keep other things of one text, or of one place, than of several: what lies in one order
/// need not be copied into another. And oneDNN's workspace grows by whole pages.
#[test]
fn texts_of_other_sizes_keep_what_their_plan_says() {
    for (model, batch, length) in [
        ("lstm", 1, 6),
        ("lstm", 2, 1),
        ("lstm", 5, 33),
        ("seq2seq", 1, 6),
        ("seq2seq", 3, 2),
        ("bert_tiny", 1, 1),
        ("bert_tiny", 3, 17),
    ] {
        let plan = planned(model, batch, length);
        let expected: ByLayer = serde_json::from_value(plan["saved_for_backward"].clone()).expect("bytes by layer");
        let timeline = Config::train(model, batch, length, 2).run();
        for table in tables(timeline, "end of forward") {
            let measured = requested_by_layer(timeline, table, Category::Activation);
            assert_eq!(measured, expected, "{model}, batch {batch}, {length} tokens");
        }
    }
}
