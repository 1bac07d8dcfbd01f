//! Steps that change a part of a network only: what forward leaves for backward, the gradients and the optimizer's state, by
//! layer, are what `trainer plan --train-only` says, to the byte.
mod common;

use std::collections::BTreeMap;

use alloc_timeline::{Category, Timeline};
use common::trainer;
use serde_json::Value;

/// The repository's slice of Fashion-MNIST; tests run in the package's folder.
const FIXTURE: &str = "../fixtures/fashion-mnist";

type ByLayer = BTreeMap<String, u64>;

/// What the plan says of one step of a run.
fn planned(model: &str, side: &str, only: &str, step: usize) -> Value {
    let size = ["plan", "--json", "--model", model, "--batch", "2", "--image-size", side];
    let ran = trainer(&[&size[..], &["--train-only", only, "--seed", "1", "--step", &step.to_string()]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).expect("one JSON object")
}

fn trained(model: &str, side: &str, only: &str, steps: usize) -> Timeline {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run.timeline.json");
    let (steps, out) = (steps.to_string(), out.to_str().expect("UTF-8"));
    let size = ["train", "--model", model, "--batch", "2", "--image-size", side, "--train-only", only];
    let ran = trainer(
        &[&size[..], &["--seed", "1", "--steps", &steps, "--threads", "1", "--data", FIXTURE, "--out", out]].concat(),
    );
    assert_eq!(ran.code, Some(0), "{model} {only}: {}", ran.stderr);
    alloc_timeline::load(out).expect("a timeline")
}

/// Requested bytes of a category at each mark of this name, by layer.
fn found(timeline: &Timeline, mark: &str, category: Category) -> Vec<ByLayer> {
    let marks = timeline.marks.iter().filter(|found| found.name == mark);
    let by_layer = |mark: &alloc_timeline::Mark| {
        let mut layers = ByLayer::new();
        let rows = &mark.snapshot.as_ref().expect("a table").rows;
        for row in rows.iter().filter(|row| row.category == category && row.requested_bytes > 0) {
            *layers.entry(timeline.scopes[row.scope as usize].layer.clone()).or_default() += row.requested_bytes;
        }
        layers
    };
    marks.map(by_layer).collect()
}

/// Checks every step of a run against the plan of that step, and gives the saved bytes of each.
#[track_caller]
fn check(model: &str, side: &str, only: &str, steps: usize) -> Vec<u64> {
    let timeline = trained(model, side, only, steps);
    assert_eq!(timeline.run["train_only"], only);
    let saved = found(&timeline, "end of forward", Category::Activation);
    let gradients = found(&timeline, "end of backward", Category::Gradient);
    let states = found(&timeline, "end of step", Category::OptimizerState);
    assert_eq!((saved.len(), gradients.len(), states.len()), (steps, steps, steps));
    for step in 0..steps {
        let place = format!("{model}, {only}, step {}", step + 1);
        let plan = planned(model, side, only, step + 1);
        let expected: ByLayer = serde_json::from_value(plan["saved_for_backward"].clone()).expect("bytes by layer");
        assert_eq!(saved[step], expected, "{place}");
        assert_eq!(plan["part"]["saved"], saved[step].values().sum::<u64>(), "{place}");
        let learning: Vec<&str> =
            plan["learning"].as_array().expect("layers").iter().filter_map(Value::as_str).collect();
        assert!(!learning.is_empty(), "{place}");
        let with_gradient: Vec<&str> = gradients[step].keys().map(String::as_str).collect();
        let mut sorted = learning.clone();
        sorted.sort_unstable();
        assert_eq!(with_gradient, sorted, "{place}: what is frozen has no gradient");
        assert_eq!(plan["part"]["gradients"], gradients[step].values().sum::<u64>(), "{place}");
        assert_eq!(plan["part"]["optimizer_state"], states[step].values().sum::<u64>(), "{place}");
    }
    saved.iter().map(|layers| layers.values().sum()).collect()
}

/// From the last layer alone to all of them: 850, 11,014, 59,134, 61,550 and 61,706 parameters.
#[test]
fn the_last_layers_of_lenet5() {
    let mut before = 0;
    for count in 1..=5 {
        let saved = check("lenet5", "32", &format!("last:{count}"), 2);
        assert_eq!(saved[0], saved[1], "last:{count}");
        assert!(saved[0] > before, "last:{count}: the more learns, the more is saved");
        before = saved[0];
    }
}

/// The head alone; the last block's second half; a block behind a shortcut with a projection; all but the stem.
#[test]
fn the_last_layers_of_resnet18() {
    for only in ["last:1", "last:3", "last:12", "last:39"] {
        check("resnet18", "64", only, 2);
    }
}

/// Each step draws other layers, and the plan knows which: frozen convolutions and batch norms lie before, between and behind
/// those that learn.
#[test]
fn drawn_layers() {
    check("lenet5", "32", "layers:0.4", 6);
    let saved = check("resnet18", "64", "layers:0.1", 3);
    assert!(saved.iter().any(|&bytes| bytes != saved[0]), "other layers, other bytes: {saved:?}");
}

/// A part of each layer's filters: all is saved, and the gradients are whole.
#[test]
fn filters_save_nothing() {
    let filters = check("lenet5", "32", "filters:0.25", 2);
    assert_eq!(filters, check("lenet5", "32", "last:5", 2));
}
