//! Networks whose training step is more than one pass forward and backward: DCGAN, with three passes and two updates, and
//! DQN, which plays a move, asks a second network and draws from a replay buffer. What each pass leaves for its backward
//! pass, by layer: measured, planned by `trainer plan`, and, for DCGAN, computed here. All are equal to the byte.
use std::collections::{BTreeMap, BTreeSet};

use alloc_timeline::{Category, Timeline};
use serde_json::Value;
use tests::{Config, command, folder, requested, requested_by_layer, run, summary, tables};

/// Bytes an element, and bytes a channel of a batch norm's mean and 1/deviation.
const F32: u64 = 4;
const BN: u64 = 8;
/// Parameters of PyTorch's example.
const GENERATOR: u64 = 3_576_704;
const DISCRIMINATOR: u64 = 2_765_568;

type ByLayer = BTreeMap<String, u64>;

fn dcgan() -> &'static Timeline {
    Config::train("dcgan", 3, 64, 2).run()
}

fn dqn() -> &'static Timeline {
    Config::train("dqn", 4, 84, 2).run()
}

fn planned(model: &str, batch: &str) -> Value {
    let ran = run(command("trainer").args(["plan", "--json", "--model", model, "--batch", batch]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).expect("one JSON object")
}

fn by_layer(value: &Value) -> ByLayer {
    serde_json::from_value(value.clone()).expect("bytes by layer")
}

/// The discriminator keeps each convolution's output but the last one's: it is batch norm's input, or the leaky ReLU's
/// result, which lies in its place. A batch norm's output becomes the leaky ReLU's result. The loss keeps what sigmoid left,
/// and its own result lies in a storage of one number for each image.
fn discriminator(batch: u64) -> ByLayer {
    let mut saved = ByLayer::new();
    let mut put = |layer: u64, bytes| saved.insert(format!("discriminator.main.{layer}"), bytes);
    let map = |channels: u64, side: u64| batch * channels * side * side * F32;
    put(0, map(64, 32));
    for (layer, channels, side) in [(2, 128, 16), (5, 256, 8), (8, 512, 4)] {
        put(layer, map(channels, side));
        put(layer + 1, map(channels, side) + channels * BN);
    }
    put(12, batch * F32);
    saved.insert("loss".into(), batch * F32);
    saved
}

/// The generator keeps each transposed convolution's output but the last one's, the ReLUs' results in the place of the batch
/// norms' outputs, and the image, which is tanh's result.
fn generator(batch: u64) -> ByLayer {
    let mut saved = ByLayer::new();
    let mut put = |layer: u64, bytes| saved.insert(format!("generator.main.{layer}"), bytes);
    let map = |channels: u64, side: u64| batch * channels * side * side * F32;
    for (layer, channels, side) in [(0, 512, 4), (3, 256, 8), (6, 128, 16), (9, 64, 32)] {
        put(layer, map(channels, side));
        put(layer + 1, map(channels, side) + channels * BN);
    }
    put(13, map(3, 64));
    saved
}

#[test]
fn each_pass_of_dcgan_keeps_what_its_plan_says() {
    let both: ByLayer = discriminator(3).into_iter().chain(generator(3)).collect();
    let expected =
        [("discriminator/real", discriminator(3)), ("discriminator/fake", both.clone()), ("generator", both.clone())];
    let plan = planned("dcgan", "3");
    assert_eq!(by_layer(&plan["saved_for_backward"]), both, "that of the pass that keeps most");
    let passes = plan["passes"].as_array().expect("a list");
    assert_eq!(passes.len(), expected.len());
    for (pass, (name, expected)) in passes.iter().zip(&expected) {
        assert_eq!((&pass["name"], &by_layer(&pass["saved_for_backward"])), (&Value::from(*name), expected));
        assert_eq!(pass["saved_bytes"], expected.values().sum::<u64>());
        let tables = tables(dcgan(), &format!("end of {name}/forward"));
        assert_eq!(tables.len(), 2, "one a step");
        for table in tables {
            assert_eq!(requested_by_layer(dcgan(), table, Category::Activation), *expected, "{name}");
        }
    }
}

/// A discriminator's update needs its own gradients alone. The generator's backward pass goes through the discriminator and
/// leaves gradients there as well. None outlives the step, and both optimizers keep two values a parameter.
#[test]
fn gradients_and_states_of_two_networks() {
    let at = |mark: &str, category| -> Vec<u64> {
        tables(dcgan(), mark).into_iter().map(|table| requested(table, category)).collect()
    };
    let (one, both) = (DISCRIMINATOR * F32, (DISCRIMINATOR + GENERATOR) * F32);
    assert_eq!(at("end of discriminator/real/backward", Category::Gradient), [one; 2]);
    assert_eq!(at("end of discriminator/fake/backward", Category::Gradient), [one; 2]);
    assert_eq!(at("end of generator/backward", Category::Gradient), [both; 2]);
    assert_eq!(at("end of step", Category::Gradient), [0; 2]);
    assert_eq!(at("end of step", Category::Parameter), [both; 2]);
    assert_eq!(at("end of step", Category::OptimizerState), [2 * both; 2], "Adam, without being asked for");
    // In the first step the discriminator's state is made before the generator's.
    assert_eq!(at("end of generator/backward", Category::OptimizerState), [2 * one, 2 * both]);
    assert_eq!(at("end of step", Category::Activation), [0; 2]);
    let layers = requested_by_layer(dcgan(), tables(dcgan(), "end of step")[1], Category::OptimizerState);
    assert_eq!(layers["generator.main.0"], 2 * 100 * 512 * 4 * 4 * F32, "of the parameter's layer");
    assert_eq!(layers["discriminator.main.3"], 2 * 2 * 128 * F32);
    assert_eq!(dcgan().run["beta1"], 0.5);
}

/// What the peak consists of says which network and which pass it is from: the names of phases begin with the pass, those of
/// layers with the network.
#[test]
fn the_peak_tells_the_networks_and_the_passes_apart() {
    let summary = summary(dcgan());
    let parts = |dimension: &str| -> BTreeMap<String, u64> { by_layer(&summary["peak"][dimension]) };
    let peak = summary["peak"]["live_bytes"].as_u64().expect("bytes");
    for dimension in ["by_phase", "by_layer"] {
        assert_eq!(parts(dimension).values().sum::<u64>(), peak, "{dimension}");
    }
    let first = |name: &String| name.split(['.', '/']).next().map(str::to_owned);
    let networks: BTreeSet<String> = parts("by_layer").keys().filter_map(first).collect();
    assert!(networks.contains("generator") && networks.contains("discriminator"), "{networks:?}");
    let phases: BTreeSet<&str> = dcgan().scopes.iter().map(|scope| scope.phase.as_str()).collect();
    for pass in ["discriminator/real", "discriminator/fake", "generator"] {
        for work in ["forward", "loss", "backward"] {
            assert!(phases.contains(format!("{pass}/{work}").as_str()), "{pass}/{work}: {phases:?}");
        }
    }
    for network in ["discriminator", "generator"] {
        assert!(phases.contains(format!("{network}/optimizer").as_str()), "{phases:?}");
    }
}

/// What a batch of DQN keeps, computed here: the outputs of the convolutions and of fc1 in f32, which are the ReLUs' results;
/// what gather takes, the worth of 3 actions; the loss's targets, the worth of the actions done, and its result.
#[test]
fn a_pass_of_dqn_keeps_what_its_plan_says() {
    let batch = 4;
    let mut expected = ByLayer::new();
    for (layer, elements) in
        [("conv1", 32 * 20 * 20), ("conv2", 64 * 9 * 9), ("conv3", 64 * 7 * 7), ("fc1", 512), ("fc2", 3)]
    {
        expected.insert(format!("policy.{layer}"), batch * elements * F32);
    }
    expected.insert("loss".into(), 2 * batch * F32 + F32);
    let plan = planned("dqn", "4");
    assert_eq!(by_layer(&plan["saved_for_backward"]), expected);
    assert!(plan.get("passes").is_none(), "a step has one");
    let parameters = plan["parameter_bytes"].as_u64().expect("bytes");
    let tables = tables(dqn(), "end of forward");
    assert_eq!(tables.len(), 2, "one a step");
    for table in tables {
        assert_eq!(requested_by_layer(dqn(), table, Category::Activation), expected);
        assert_eq!(requested(table, Category::Parameter), parameters);
        assert_eq!(requested(table, Category::Buffer), parameters, "the target network learns nothing by itself");
        let buffers = requested_by_layer(dqn(), table, Category::Buffer);
        assert!(buffers.keys().all(|layer| layer.starts_with("target.")), "{buffers:?}");
    }
}

/// 84 x 84 pixels, an action of a byte, a reward of 4 and a flag for each of 10,000 moves, from the start to the end. Besides
/// that the input at the end of forward is 4 states of 4 frames in f32 and 4 actions in i64.
#[test]
fn the_replay_buffer_is_input() {
    assert_eq!(dqn().run["replay"], 10_000);
    for table in tables(dqn(), "end of forward") {
        let input = requested_by_layer(dqn(), table, Category::Input);
        assert_eq!(input["replay"], 10_000 * (84 * 84 + 1 + 4 + 1));
        let batch: u64 = input.iter().filter(|(layer, _)| *layer != "replay").map(|(_, bytes)| bytes).sum();
        assert_eq!(batch, 4 * 4 * 84 * 84 * F32 + 4 * 8);
    }
}

/// The phases of a step, and that a run can be repeated.
#[test]
fn a_step_of_dqn_acts_before_it_learns() {
    let phases: BTreeSet<&str> = dqn().scopes.iter().map(|scope| scope.phase.as_str()).collect();
    for phase in ["act", "sample", "target", "forward", "loss", "backward", "optimizer"] {
        assert!(phases.contains(phase), "{phase}: {phases:?}");
    }
    let again = Config { repetition: 1, ..Config::train("dqn", 4, 84, 2) }.run();
    let live = |timeline: &Timeline| -> Vec<u64> {
        tables(timeline, "end of forward").into_iter().map(|table| requested(table, Category::Activation)).collect()
    };
    assert_eq!(live(dqn()), live(again));
}

/// A generator needs no data, a player neither: they run in an empty folder.
#[test]
fn inference_generates_images_and_plays() {
    let folder = folder();
    for (model, makes) in [("dcgan", 2 * 3 * 64 * 64 * F32), ("dqn", 2 * 3 * F32)] {
        let out = folder.path().join(format!("{model}.timeline.json"));
        let args = ["infer", "--model", model, "--batch", "2", "--steps", "2", "--threads", "1", "--out"];
        let ran = run(command("trainer").current_dir(folder.path()).args(args).arg(&out));
        assert_eq!(ran.code, Some(0), "{model}: {}", ran.stderr);
        let timeline = alloc_timeline::load(&out).expect("a timeline");
        for table in tables(&timeline, "end of inference") {
            assert_eq!(requested(table, Category::Activation), makes, "{model}");
        }
    }
}
