//! Training by plans of checkpoints: the losses of a plain run, to the last bit, and the peak that the plan says.
use crate::common::{command, refused, small_data, trainer};
use serde_json::Value;

/// Three steps of a network under a plan; none: a plain run. Each block is an event, so that small networks have no slack.
fn run(model: &str, size: &str, plan: Option<&str>) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let data = small_data(8);
    let out = folder.path().join("a.timeline.json");
    let path = |path: &std::path::Path| path.to_str().expect("UTF-8").to_owned();
    let (data, out) = (path(data.path()), path(&out));
    let sizes = ["--batch", "4", "--steps", "3", "--image-size", size, "--classes", "10", "--threads", "1"];
    let mut args = vec!["train", "--model", model, "--data", &data, "--out", &out, "--json-times"];
    args.extend(sizes);
    args.extend(plan.iter().flat_map(|plan| ["--checkpoint", plan]));
    let output = command(&args).env("ALLOC_TRACKER", "exact").output().expect("the binary starts");
    let ran = crate::common::Ran::from(output);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).expect("one line of JSON")
}

fn bytes(kept: &Value, name: &str) -> u64 {
    kept["checkpoint"][name].as_u64().unwrap_or_else(|| panic!("{name} in {kept}"))
}

/// The loss of a step depends on the gradients of all steps before it.
/// Returns the smallest peak of all plans, and that without checkpoints.
#[track_caller]
fn check(model: &str, size: &str, plans: &[&str]) -> (u64, u64) {
    let plain = run(model, size, None);
    assert!(plain.get("checkpoint").is_none());
    let mut least = u64::MAX;
    for plan in plans {
        let planned = run(model, size, Some(plan));
        assert_eq!(planned["loss"], plain["loss"], "{model} {plan}");
        let (predicted, measured) = (bytes(&planned, "planned_peak_bytes"), bytes(&planned, "measured_peak_bytes"));
        assert!(predicted.abs_diff(measured) * 100 <= predicted, "{model} {plan}: {predicted} and {measured}");
        least = least.min(measured);
    }
    let whole = run(model, size, Some("none"));
    assert_eq!(whole["loss"], plain["loss"], "{model} none");
    (least, bytes(&whole, "measured_peak_bytes"))
}

/// The peak of so small a network lies in a single part or in the update, where no plan changes it.
#[test]
fn lenet() {
    let (least, whole) = check("lenet5", "32", &["sequential:2", "revolve:3"]);
    assert!(least.abs_diff(whole) * 100 <= whole, "{least} and {whole}");
}

#[test]
fn resnet() {
    let (least, whole) = check("resnet18", "64", &["sequential:4", "sequential", "revolve:3"]);
    assert!(least < whole, "a plan takes less than none");
    let budget = (least + whole) / 2;
    let kept = run("resnet18", "64", Some(&format!("bytes:{budget}")));
    assert_eq!(kept["loss"], run("resnet18", "64", None)["loss"], "bytes:{budget}");
    assert!(kept["checkpoint"]["left_bytes"].as_i64().is_some_and(|left| left >= 0), "{kept}");
}

/// A budget in which nothing fits names what would: so many bytes, which do, or a smaller batch.
#[test]
fn a_budget_that_is_too_small() {
    let data = small_data(8);
    let folder = data.path().to_str().expect("UTF-8");
    let out = data.path().join("a.timeline.json");
    let train = |budget: &str| {
        let sizes = ["--batch", "4", "--steps", "2", "--image-size", "32", "--threads", "1", "--data", folder];
        let output = ["--out", out.to_str().expect("UTF-8"), "--json-times"];
        trainer(&[&["train", "--model", "lenet5", "--budget", budget][..], &sizes, &output].concat())
    };
    let ran = train("1KiB");
    refused(&ran, &["with --batch 4 no plan takes less than", "no smaller batch fits either"]);
    let least = ran.stderr.split("give bytes:").nth(1).and_then(|rest| rest.split(',').next()).expect("a size");
    let ran = train(least);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let kept: Value = serde_json::from_str(&ran.stdout).expect("one line of JSON");
    assert!(kept["checkpoint"]["left_bytes"].as_i64().is_some_and(|left| left >= 0), "{kept}");
}

/// `trainer plan` draws the plan and knows all others; what it says of a plan is what a run takes.
#[test]
fn a_plan_before_the_run() {
    let args = ["plan", "--model", "lenet5", "--batch", "4", "--image-size", "32", "--checkpoint", "sequential:2"];
    let ran = trainer(&args);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("conv1..relu"), "{}", ran.stdout);
    assert!(ran.stdout.contains("\nforward   c . . s s s s s\nbackward        < < < < <\n"), "{}", ran.stdout);
    let ran = trainer(&[&args[..], &["--json"]].concat());
    let plan: Value = serde_json::from_str(&ran.stdout).expect("one JSON object");
    assert_eq!(plan["parts"].as_array().map(Vec::len), Some(8), "seven parts and the loss: {plan}");
    let named = |name: &str| {
        let others = plan["others"].as_array().expect("other plans");
        others.iter().find(|other| other["plan"] == name).unwrap_or_else(|| panic!("{name} in {plan}")).clone()
    };
    assert_eq!(named("sequential:2")["peak_bytes"], plan["planned"]["peak_bytes"]);
    assert_eq!(named("revolve:8")["recomputed"], 7, "each part but the loss once more");
}

#[test]
fn what_is_refused() {
    let data = small_data(4);
    let data = data.path().to_str().expect("UTF-8");
    let train = |more: &[&str]| {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("a.timeline.json");
        let out = out.to_str().expect("UTF-8");
        trainer(&[&["train", "--data", data, "--out", out, "--batch", "2", "--steps", "1"], more].concat())
    };
    let lenet = ["--model", "lenet5", "--image-size", "32"];
    refused(&train(&[&lenet[..], &["--checkpoint", "some"]].concat()), &["some is no plan", "sequential:4"]);
    refused(&train(&["--model", "dqn", "--checkpoint", "none"]), &["--model resnet18"]);
    refused(&train(&[&lenet[..], &["--checkpoint", "none", "--chained"]].concat()), &["leave --chained out"]);
    refused(
        &train(&[&lenet[..], &["--checkpoint", "bytes:1MB", "--track", "off"]].concat()),
        &["leave --track off out"],
    );
}
