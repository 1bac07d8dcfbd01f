//! A program that names no phases (`examples/unannotated.rs`), against the same program that does: the same storages are
//! in the same phases, to the byte.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use alloc_timeline::{Category, Snapshot, Timeline, work_of};

/// Cargo builds the examples of a package before its tests run.
fn example() -> PathBuf {
    let test = std::env::current_exe().expect("this test's own path");
    let profile = test.ancestors().nth(2).expect("the profile's folder");
    profile.join("examples/unannotated")
}

fn run(model: &str, named: &[&str]) -> Timeline {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.timeline.json");
    let mut command = Command::new(example());
    let ran =
        command.arg(model).arg(&path).args(named).env("OMP_NUM_THREADS", "1").env_remove("ALLOC_TRACKER").output();
    let ran = ran.expect("the example runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    alloc_timeline::load(&path).expect("a timeline")
}

/// The last snapshot of this name.
fn table<'a>(timeline: &'a Timeline, mark: &str) -> &'a Snapshot {
    let found = timeline.marks.iter().rev().find(|found| found.name == mark);
    found.and_then(|mark| mark.snapshot.as_ref()).expect("a snapshot")
}

/// Requested bytes of tensors by category and phase. The loss is part of the forward pass, as operators tell it; what is made
/// before the first step and for a batch has no phase, as operators do not tell that.
fn tensors(timeline: &Timeline, table: &Snapshot) -> BTreeMap<(Category, String), u64> {
    let mut bytes = BTreeMap::new();
    for row in table.rows.iter().filter(|row| row.category.is_tensor()) {
        let phase = match work_of(&timeline.scopes[row.scope as usize].phase) {
            "loss" => "forward",
            "init" | "data" => "",
            other => other,
        };
        *bytes.entry((row.category, phase.to_owned())).or_default() += row.requested_bytes;
    }
    bytes
}

/// Batches are inputs by their phase alone: without it they are activations.
fn with_inputs_as_activations(mut bytes: BTreeMap<(Category, String), u64>) -> BTreeMap<(Category, String), u64> {
    if let Some(inputs) = bytes.remove(&(Category::Input, String::new())) {
        *bytes.entry((Category::Activation, String::new())).or_default() += inputs;
    }
    bytes
}

/// At each mark, with the bytes of the forward pass of which no operator tells that they are part of it.
fn same_bytes(model: &str, marks: &[(&str, u64)]) -> Timeline {
    let (derived, named) = (run(model, &[]), run(model, &["named"]));
    for &(mark, unknown) in marks {
        let found = tensors(&derived, table(&derived, mark));
        let mut expected = with_inputs_as_activations(tensors(&named, table(&named, mark)));
        if unknown > 0
            && let Some(forward) = expected.get_mut(&(Category::Activation, "forward".to_owned()))
        {
            *forward -= unknown;
            *expected.entry((Category::Activation, String::new())).or_default() += unknown;
        }
        assert_eq!(found, expected, "{model}, {mark}");
    }
    assert_eq!(named.derived_phases, Vec::<String>::new());
    assert_eq!(named.steps.iter().map(|step| step.derived).collect::<Vec<_>>(), [false; 8]);
    derived
}

#[test]
fn a_perceptron_has_the_phases_of_its_operators() {
    let marks = ["end of forward", "end of backward", "end of optimizer", "end of inference"].map(|mark| (mark, 0));
    let timeline = same_bytes("mlp", &marks);
    let phases = ["forward (derived)", "backward (derived)", "optimizer (derived)", "infer (derived)"];
    assert_eq!(timeline.derived_phases, phases);
}

#[test]
fn an_lstm_has_the_phases_of_its_operators() {
    // The initial state, 32 x 64 zeroes, is made of nothing, like a batch.
    same_bytes("lstm", &[("end of forward", 32 * 64 * 4), ("end of backward", 0), ("end of optimizer", 0)]);
}

/// Eight optimizers end eight steps, the last of them with the session.
#[test]
fn an_optimizer_ends_a_step() {
    for model in ["mlp", "lstm"] {
        let (derived, named) = (run(model, &[]), run(model, &["named"]));
        let numbers: Vec<(u64, bool)> = derived.steps.iter().map(|step| (step.index, step.derived)).collect();
        assert_eq!(numbers, (1..=8).map(|index| (index, true)).collect::<Vec<_>>(), "{model}");
        assert_eq!(named.steps.len(), 8, "{model}");
    }
}

/// What an optimizer keeps is of its parameter's layer: SGD one momentum an element, Adam two moments.
#[test]
fn an_optimizers_state_is_of_its_parameters_layer() {
    for (model, states) in [("mlp", 1), ("lstm", 2)] {
        let timeline = run(model, &[]);
        let table = table(&timeline, "end of optimizer");
        let by_layer = |category| {
            let mut bytes: BTreeMap<&str, u64> = BTreeMap::new();
            for row in table.rows.iter().filter(|row| row.category == category) {
                *bytes.entry(timeline.scopes[row.scope as usize].layer.as_str()).or_default() += row.requested_bytes;
            }
            bytes
        };
        let parameters = by_layer(Category::Parameter).into_iter();
        let expected: BTreeMap<&str, u64> = parameters.map(|(layer, bytes)| (layer, states * bytes)).collect();
        assert_eq!(by_layer(Category::OptimizerState), expected, "{model}");
        assert_eq!(expected.len(), 2, "{model}: two layers, and nothing without one");
    }
}

/// What a layer is stands beside its name.
#[test]
fn layers_are_what_their_operators_say() {
    let kinds = |model: &str| run(model, &[]).layer_kinds.into_iter().collect::<Vec<_>>();
    let said = |layer: &str, kind: &str| (layer.to_owned(), kind.to_owned());
    assert_eq!(kinds("mlp"), [said("hidden", "linear, 784 to 256"), said("output", "linear, 256 to 10")]);
    assert_eq!(kinds("lstm"), [said("lstm", "LSTM, 8 to 64"), said("output", "linear, 64 to 1")]);
}
