//! What each optimizer keeps, by layer: measured to the byte against what the plan says.
use crate::common::{ByLayer, by_layer, small_data, tables, text, trainer};
use alloc_timeline::{Category, Timeline};
use serde_json::Value;

/// The optimizers, and how many values each keeps for a parameter.
const OPTIMIZERS: [(&[&str], u64); 7] = [
    (&["--optimizer", "sgd", "--momentum", "0"], 0),
    (&["--optimizer", "sgd"], 1),
    (&["--optimizer", "nesterov"], 1),
    (&["--optimizer", "adagrad"], 1),
    (&["--optimizer", "rmsprop"], 1),
    (&["--optimizer", "adam"], 2),
    (&["--optimizer", "adamw"], 2),
];

/// Requested bytes of the optimizer's state by layer, at each mark of this name.
fn states(timeline: &Timeline, mark: &str) -> Vec<ByLayer> {
    tables(timeline, mark).map(|table| by_layer(timeline, table, Category::OptimizerState, None)).collect()
}

/// 0, 1 or 2 values of 4 bytes for each parameter, of the parameter's layer, from the first step on, and nothing besides:
/// libtorch's C++ optimizers count their steps in a number, not in a tensor.
#[track_caller]
fn each_keeps_what_the_plan_says(model: &str, parameters: u64) {
    let (data, folder) = (small_data(8), tempfile::tempdir().expect("a folder"));
    let out = folder.path().join("a.timeline.json");
    for (typed, copies) in OPTIMIZERS {
        let size = ["--model", model, "--batch", "2", "--image-size", "33"];
        let plan = trainer(&[&["plan", "--json"], &size[..], typed].concat());
        assert_eq!(plan.code, Some(0), "{}", plan.stderr);
        let plan: Value = serde_json::from_str(&plan.stdout).expect("one JSON object");
        assert_eq!(plan["optimizer_state_bytes"], copies * parameters * 4, "{model} {typed:?}");
        let layers = plan["by_layer"].as_object().expect("layers").iter();
        let state = |needs: &Value| needs["optimizer_state"].as_u64().expect("bytes");
        let planned: ByLayer =
            layers.map(|(layer, needs)| (layer.clone(), state(needs))).filter(|&(_, bytes)| bytes > 0).collect();
        assert_eq!(planned.values().sum::<u64>(), copies * parameters * 4, "{model} {typed:?}");

        let more = ["--steps", "2", "--threads", "1", "--data", text(data.path()), "--out", text(&out)];
        let ran = trainer(&[&["train"], &size[..], &more, typed].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let timeline = alloc_timeline::load(&out).expect("whole");
        assert_eq!(states(&timeline, "end of step"), [planned.clone(), planned.clone()], "{model} {typed:?}");
        assert_eq!(states(&timeline, "end of backward"), [ByLayer::new(), planned], "{model} {typed:?}");
        assert_eq!(timeline.run["optimizer"], typed[1]);
        assert_eq!(timeline.run.contains_key("momentum"), matches!(typed[1], "sgd" | "nesterov"));

        // State is there at every instant of the second step, so its peak has all of it. (Two runs' peaks cannot be
        // compared for that: memory that is no tensor's differs from run to run, by 20 KiB in one run of ten.)
        let second = timeline.steps.last().expect("two steps");
        let at_peak = second.by_category.get("optimizer_state").map_or(0, |&bytes| bytes);
        assert!(at_peak >= copies * parameters * 4, "{model} {typed:?}: {at_peak} of {}", second.live_bytes);
        assert_eq!(at_peak == 0, copies == 0, "{model} {typed:?}: {at_peak}");
    }
}

/// Convolutions without bias, batch norms, one linear layer.
#[test]
fn states_of_resnet18() {
    each_keeps_what_the_plan_says("resnet18", 11_689_512);
}

/// Convolutions and linear layers with bias. 61,706 parameters with 10 classes; its last layer has 85 a class.
#[test]
fn states_of_lenet5() {
    each_keeps_what_the_plan_says("lenet5", 61_706 + 990 * 85);
}

/// A budget that is enough for SGD without momentum and not for Adam: the optimizer decides whether it fits.
#[test]
fn the_optimizer_decides_whether_it_fits() {
    let data = small_data(8);
    let fit = |optimizer: &[&str]| {
        let args = ["fit", "--model", "resnet18", "--budget", "260M", "--batch", "2", "--image-size", "33", "--json"];
        let more = ["--threads", "1", "--data", text(data.path()), "--measure", "2,4"];
        let ran = trainer(&[&args[..], &more, optimizer].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        serde_json::from_str::<Value>(&ran.stdout).expect("one JSON object")
    };
    let [sgd, adam] = [fit(OPTIMIZERS[0].0), fit(OPTIMIZERS[5].0)];
    assert_eq!((&sgd["optimizer"], &sgd["momentum"]), (&"sgd".into(), &0.0.into()));
    assert_eq!((&adam["optimizer"], &adam["momentum"]), (&"adam".into(), &Value::Null));
    let verdict = |answer: &Value| answer["pages_given_back"]["verdict"].as_str().map(str::to_owned);
    assert_eq!(verdict(&sgd).as_deref(), Some("fits"), "{sgd}");
    assert_eq!(verdict(&adam).as_deref(), Some("does_not_fit"), "{adam}");
}

#[test]
fn momentum_belongs_to_sgd() {
    let ran = trainer(&["plan", "--model", "resnet18", "--optimizer", "adam", "--momentum", "0.9"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(
        ran.stderr.contains("--momentum 0.9: adam has none; leave it out, or give --optimizer sgd"),
        "{}",
        ran.stderr
    );
}
