//! Times by scope of a real training run: the parts of each step sum to it, each layer has its time forward and backward, and
//! the operators are entered as often as the network has them.
use std::collections::BTreeMap;

use alloc_timeline::{ScopeTimes, Timeline};
use serde_json::Value;
use tests::{Config, folder, run, text, viewer};

/// ResNet-18 has so many convolutions, each with a batch norm, and so many parameters with a gradient.
const CONVOLUTIONS: u64 = 20;
const PARAMETERS: u64 = 62;
const STEPS: u64 = 5;

/// Time and calls by phase, layer and operator.
fn rows(timeline: &Timeline, times: &ScopeTimes) -> BTreeMap<[String; 3], (u64, u64)> {
    let names = |scope: u32| {
        let scope = &timeline.scopes[scope as usize];
        [scope.phase.clone(), scope.layer.clone(), scope.op.clone()]
    };
    times.rows().map(|(scope, ns, calls)| (names(scope), (ns, calls))).collect()
}

fn json(args: &[&str]) -> Value {
    let ran = viewer(args);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).expect("JSON")
}

#[test]
fn the_parts_of_a_training_step_sum_to_it() {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let ran = run(&mut Config::train("resnet18", 2, 64, STEPS).command(&out));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let timeline = alloc_timeline::load(&out).expect("a timeline, whose sums are checked");
    assert_eq!(timeline.step_times.len() as u64, STEPS);
    for (times, step) in timeline.step_times.iter().zip(&timeline.steps) {
        assert_eq!((times.first_step, times.last_step), (step.index, step.index));
        // The clock is read just before the recorder is told of the step's beginning, and just after it is told of the end.
        assert!(times.wall_ns >= step.end_ns - step.start_ns, "{} {step:?}", times.wall_ns);
        assert!(times.other_threads.is_empty(), "on a CPU one thread does everything: {:?}", times.other_threads);
        let rows = rows(&timeline, &times.stepping_thread);
        let calls = |phase: &str, op: &str| -> u64 {
            let of = rows.iter().filter(|([of_phase, _, of_op], _)| of_phase == phase && of_op == op);
            of.map(|(_, (_, calls))| calls).sum()
        };
        assert_eq!(calls("forward", "aten::conv2d"), CONVOLUTIONS);
        assert_eq!(calls("forward", "aten::batch_norm"), CONVOLUTIONS);
        assert_eq!(calls("backward", "ConvolutionBackward0"), CONVOLUTIONS);
        assert_eq!(calls("backward", "torch::autograd::AccumulateGrad"), PARAMETERS);
        for (layer, op) in [("layer1.0.conv1", "aten::conv2d"), ("fc", "aten::linear")] {
            let forward = &rows[&["forward", layer, op].map(str::to_owned)];
            assert!(forward.0 > 0 && forward.1 == 1, "{layer} {forward:?}");
        }
        for phase in ["data", "forward", "loss", "backward", "optimizer"] {
            assert!(rows.iter().any(|([of, ..], (ns, _))| of == phase && *ns > 0), "{phase}");
        }
    }

    // The viewer's tables sum to the same.
    let file = text(&out);
    let wall: u64 = timeline.step_times[3..].iter().map(|step| step.wall_ns).sum();
    let times = json(&["times", file, "--json"]);
    assert_eq!((times["basis"]["first_step"].as_u64(), times["self_ns"].as_u64()), (Some(4), Some(wall)));
    let steps = json(&["steps", file, "--json"]);
    let figures = steps["figures"].as_array().expect("figures");
    let sums: Vec<u64> = figures.iter().map(|figures| figures["sum_ns"].as_u64().expect("a number")).collect();
    assert_eq!((sums[..sums.len() - 1].iter().sum::<u64>(), sums[sums.len() - 1]), (wall, wall));
    let operations = times["by_operation"].as_array().expect("rows");
    let convolution = operations.iter().find(|row| row["name"] == "convolution").expect("a convolution");
    assert!(convolution["forward_ns"].as_u64() > Some(0) && convolution["backward_ns"].as_u64() > Some(0));
}

#[test]
fn a_run_without_times_says_how_to_get_them() {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let config = Config { mode: "infer", ..Config::train("resnet18", 1, 32, 1) };
    let ran = run(config.command(&out).args(["--layer-times", "off"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(alloc_timeline::load(&out).expect("a timeline").step_times.is_empty());
    let ran = viewer(&["times", text(&out)]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("ALLOC_TRACKER_TIMES=on"), "{}", ran.stderr);
}
