//! What each optimizer keeps: measured to the byte against what the plan says.
mod common;

use std::path::Path;

use alloc_timeline::{Category, Timeline};
use common::{small_data, trainer};
use serde_json::Value;

/// Trainable values of ResNet-18 with 1000 classes.
const PARAMETERS: u64 = 11_689_512;
const OPTIMIZERS: [(&[&str], u64); 5] = [
    (&["--optimizer", "sgd", "--momentum", "0"], 0),
    (&["--optimizer", "sgd"], 1),
    (&["--optimizer", "rmsprop"], 1),
    (&["--optimizer", "adam"], 2),
    (&["--optimizer", "adamw"], 2),
];

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Requested bytes of the optimizer's state at the end of each step.
fn states(timeline: &Timeline) -> Vec<u64> {
    let ends = timeline.marks.iter().filter(|mark| mark.name == "end of step");
    let state = |mark: &alloc_timeline::Mark| {
        let rows = &mark.snapshot.as_ref().expect("a table").rows;
        rows.iter().filter(|row| row.category == Category::OptimizerState).map(|row| row.requested_bytes).sum()
    };
    ends.map(state).collect()
}

/// 0, 1 or 2 values of 4 bytes for each parameter, from the first step on, and nothing besides: libtorch's C++ optimizers
/// count their steps in a number, not in a tensor.
#[test]
fn each_keeps_what_the_plan_says() {
    let (data, folder) = (small_data(8), tempfile::tempdir().expect("a folder"));
    let out = folder.path().join("a.timeline.json");
    let mut peaks = Vec::new();
    for (typed, copies) in OPTIMIZERS {
        let plan = trainer(&[&["plan", "--model", "resnet18", "--json"], typed].concat());
        assert_eq!(plan.code, Some(0), "{}", plan.stderr);
        let plan: Value = serde_json::from_str(&plan.stdout).expect("one JSON object");
        let bytes = copies * PARAMETERS * 4;
        assert_eq!(plan["optimizer_state_bytes"], bytes, "{typed:?}");

        let work = ["train", "--model", "resnet18", "--batch", "2", "--image-size", "33", "--steps", "2"];
        let more = ["--threads", "1", "--data", text(data.path()), "--out", text(&out)];
        let ran = trainer(&[&work[..], &more, typed].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let timeline = alloc_timeline::load(&out).expect("whole");
        assert_eq!(states(&timeline), [bytes, bytes], "{typed:?}");
        assert_eq!(timeline.run["optimizer"], typed[1]);
        assert_eq!(timeline.run.contains_key("momentum"), typed[1] == "sgd");
        peaks.push(timeline.peak.live_bytes);
    }
    // State is there at every instant of a later step, so the peak is higher by all of it at least.
    for ((typed, copies), peak) in OPTIMIZERS.iter().zip(&peaks) {
        assert!(*peak >= peaks[0] + copies * PARAMETERS * 4, "{typed:?}: {peaks:?}");
    }
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
    let [sgd, adam] = [fit(OPTIMIZERS[0].0), fit(OPTIMIZERS[3].0)];
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
