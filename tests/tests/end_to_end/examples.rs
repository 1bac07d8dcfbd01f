//! The two examples, a user's own models: a perceptron whose layers are wrapped, and an LSTM that is not changed at
//! all.
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use alloc_timeline::{Category, Scope, Snapshot, Timeline};
use tests::{command, folder, requested, requested_by_layer, rows, run, tables};

/// 784 -> 256 -> 10, batch 64: weights and biases of 4 bytes an element.
const HIDDEN: u64 = (784 * 256 + 256) * 4;
const OUTPUT: u64 = (256 * 10 + 10) * 4;
/// 8 features -> 64, four gates with two biases each; 64 -> 1.
const LSTM: u64 = (4 * 64 * 8 + 4 * 64 * 64 + 2 * 4 * 64) * 4;
const LSTM_OUTPUT: u64 = (64 + 1) * 4;
const STEPS: u64 = 8;

static MLP: LazyLock<Timeline> = LazyLock::new(|| example("examples/mlp"));
static RECURRENT: LazyLock<Timeline> = LazyLock::new(|| example("examples/lstm"));

fn example(name: &str) -> Timeline {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let ran = run(command(name).arg(&out));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    alloc_timeline::load(Path::new(&out)).expect("a timeline")
}

/// After the last step but one there is momentum, after the last forward pass all that backward needs.
fn end_of_forward(timeline: &Timeline) -> &Snapshot {
    tables(timeline, "end of forward").last().expect("a table")
}

fn by_layer(timeline: &Timeline, table: &Snapshot, category: Category) -> BTreeMap<String, u64> {
    requested_by_layer(timeline, table, category)
}

fn map<const N: usize>(expected: [(&str, u64); N]) -> BTreeMap<String, u64> {
    expected.into_iter().map(|(layer, bytes)| (layer.to_owned(), bytes)).collect()
}

/// The scopes of one phase that allocated anything, with the usable bytes that they allocated in the whole run.
fn allocated<'a>(timeline: &'a Timeline, phase: &'a str) -> impl Iterator<Item = (&'a Scope, u64)> {
    let totals = timeline.totals.by_scope.iter();
    let of_phase = totals.map(|total| (&timeline.scopes[total.scope as usize], total.allocated_bytes));
    of_phase.filter(move |(scope, _)| scope.phase == phase)
}

/// ReLU's result (64 x 256 elements) is kept, by ReLU itself and for the layer after it; the linear layers' results are
/// not. The loss keeps log-probabilities (64 x 10), itself and its total weight, and has no layer in this program.
#[test]
fn mlp_activations() {
    let saved = by_layer(&MLP, end_of_forward(&MLP), Category::Activation);
    assert_eq!(saved, map([("relu", 64 * 256 * 4), ("", 64 * 10 * 4 + 4 + 4)]));
}

/// The peak is at the end of backward, all gradients are there: each in the layer that made it.
#[test]
fn mlp_gradients() {
    let gradients = by_layer(&MLP, &MLP.peak, Category::Gradient);
    assert_eq!(gradients, map([("hidden", HIDDEN), ("output", OUTPUT)]));
}

#[test]
fn mlp_parameters_and_momentum() {
    let table = end_of_forward(&MLP);
    assert_eq!(requested(table, Category::Parameter), HIDDEN + OUTPUT);
    assert_eq!(requested(table, Category::OptimizerState), HIDDEN + OUTPUT, "SGD keeps one momentum an element");
}

/// A parameter belongs to its layer, although the program made it before that layer had run for the first time.
#[test]
fn mlp_parameters_are_their_layers() {
    let parameters = by_layer(&MLP, end_of_forward(&MLP), Category::Parameter);
    assert_eq!(parameters, map([("hidden", HIDDEN), ("output", OUTPUT)]));
}

/// Each layer that runs forward runs backward under its name, through its own autograd node.
#[test]
fn mlp_backward_has_the_layers_names() {
    for (layer, op) in [("hidden", "AddmmBackward0"), ("relu", "ReluBackward0"), ("output", "AddmmBackward0")] {
        let bytes: u64 = allocated(&MLP, "backward")
            .filter(|(scope, _)| scope.layer == layer && scope.op == op)
            .map(|(_, bytes)| bytes)
            .sum();
        assert!(bytes > 0, "{op} of {layer}");
    }
}

/// The bookkeeping of AccumulateGrad belongs to the layer whose parameter it serves.
#[test]
fn mlp_accumulation_has_the_layers_names() {
    let mut layers: Vec<&str> = allocated(&MLP, "backward")
        .filter(|(scope, _)| scope.op == "torch::autograd::AccumulateGrad")
        .map(|(scope, _)| scope.layer.as_str())
        .collect();
    layers.sort_unstable();
    assert_eq!(layers, ["hidden", "output"]);
}

/// A gradient that AccumulateGrad cannot take over is cloned there. In all steps together it allocated less than one
/// step's gradients, so it never cloned: the gradients are those that the layers made.
#[test]
fn no_gradient_is_cloned() {
    for (timeline, gradients) in [(&*MLP, HIDDEN + OUTPUT), (&*RECURRENT, LSTM + LSTM_OUTPUT)] {
        let accumulated: u64 = allocated(timeline, "backward")
            .filter(|(scope, _)| scope.op == "torch::autograd::AccumulateGrad")
            .map(|(_, bytes)| bytes)
            .sum();
        assert!(accumulated < gradients, "{accumulated} bytes in {STEPS} steps of {gradients}");
    }
}

/// An operator's layer is that of the parameter it reads: `lstm` for the whole recurrence, and `output`. 32 sequences
/// give 32 predictions; mean squared error keeps the difference from the targets, and belongs to the layer before it.
#[test]
fn lstm_layers_are_named_without_a_change() {
    let table = end_of_forward(&RECURRENT);
    let activations = |phase: &str, layer: &str| -> u64 {
        rows(&RECURRENT, table)
            .filter(|(scope, row)| row.category == Category::Activation && scope.phase == phase && scope.layer == layer)
            .map(|(_, row)| row.requested_bytes)
            .sum()
    };
    assert_eq!(activations("forward", "output"), 32 * 4);
    // oneDNN chooses the size of its workspace; the hidden states of 20 time steps are in it, whatever it does besides.
    assert!(activations("forward", "lstm") > 20 * 32 * 64 * 4, "{}", activations("forward", "lstm"));
    // No parameter and no input: the initial state, 32 x 64 zeroes, has no layer.
    assert_eq!(activations("forward", ""), 32 * 64 * 4);
}

/// Adam keeps two moments an element, made by operators that read the parameters: each under its layer.
#[test]
fn lstm_parameters_and_moments() {
    let table = end_of_forward(&RECURRENT);
    assert_eq!(requested(table, Category::Parameter), LSTM + LSTM_OUTPUT);
    let moments = by_layer(&RECURRENT, table, Category::OptimizerState);
    assert_eq!(moments, map([("lstm", 2 * LSTM), ("output", 2 * LSTM_OUTPUT)]));
}

/// As for the perceptron; `name_layers` knows which parameter is whose.
#[test]
fn lstm_parameters_are_their_layers() {
    let parameters = by_layer(&RECURRENT, end_of_forward(&RECURRENT), Category::Parameter);
    assert_eq!(parameters, map([("lstm", LSTM), ("output", LSTM_OUTPUT)]));
}

/// The peak is inside the LSTM's backward: the output layer's gradients are there, of the LSTM's those of both weights
/// and of one bias. (The other bias has the same gradient, and gets its copy of 4 x 64 elements last.)
#[test]
fn lstm_gradients() {
    let gradients = by_layer(&RECURRENT, &RECURRENT.peak, Category::Gradient);
    assert_eq!(gradients, map([("lstm", LSTM - 4 * 64 * 4), ("output", LSTM_OUTPUT)]));
}

#[test]
fn lstm_backward_has_the_layers_names() {
    let ops: Vec<(&str, &str)> =
        allocated(&RECURRENT, "backward").map(|(scope, _)| (scope.layer.as_str(), scope.op.as_str())).collect();
    for expected in [
        ("lstm", "MkldnnRnnLayerBackward0"),
        ("lstm", "torch::autograd::AccumulateGrad"),
        ("output", "AddmmBackward0"),
        ("output", "torch::autograd::AccumulateGrad"),
    ] {
        assert!(ops.contains(&expected), "{expected:?} in {ops:?}");
    }
    assert!(ops.iter().all(|(layer, op)| !layer.is_empty() || op.is_empty()), "no operator without a layer: {ops:?}");
}

/// Live bytes at the end of each step, and what each scope's part of them grew by from one step to another.
fn grown(arguments: &[&str], from: usize) -> (Vec<u64>, Vec<(Scope, i64)>) {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let ran = run(command("examples/varying_batches").arg(&out).args(arguments));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let timeline = alloc_timeline::load(&out).expect("a timeline");
    let growth = timeline.analysis.expect("an analysis").growth;
    let part = |bytes: &[u64]| bytes[bytes.len() - 1] as i64 - bytes[from] as i64;
    let owners =
        growth.owners.iter().map(|owner| (timeline.scopes[owner.scope as usize].clone(), part(&owner.live_bytes)));
    (growth.live_bytes.clone(), owners.filter(|(_, bytes)| *bytes != 0).collect())
}

/// oneDNN keeps compiled code for each new shape (pytorch issue 32596): convolutions keep more after every batch of
/// a new size, and nobody else does. With one size nothing grows, to the byte.
#[test]
fn batches_of_ever_new_sizes_fill_a_cache() {
    let (live, owners) = grown(&["24"], 9);
    assert!(live.windows(2).skip(1).all(|steps| steps[1] > steps[0]), "{live:?}");
    let total = live[live.len() - 1] as i64 - live[9] as i64;
    let convolutions: i64 = owners
        .iter()
        .filter(|(scope, _)| scope.phase == "infer" && scope.op.contains("conv"))
        .map(|(_, bytes)| bytes)
        .sum();
    // Of all that is kept the convolutions keep nearly everything; the C library keeps a little beside.
    assert!(convolutions > total * 99 / 100, "{convolutions} of {total}: {owners:?}");
    assert!(convolutions / 14 > 50_000, "bytes a step: {}", convolutions / 14);

    let (live, owners) = grown(&["24", "fixed"], 9);
    assert_eq!((live[9], &owners[..]), (live[live.len() - 1], &[][..]));
}
