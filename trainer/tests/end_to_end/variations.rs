//! Runs that change a part of a network, or learn day by day: accuracy, weights from run to run, refusals.
use std::path::Path;

use crate::common::{Ran, refused, small_data, text, trainer};
use serde_json::Value;

/// A run of LeNet-5 on these data, without a timeline; its line of JSON.
#[track_caller]
fn lenet5(data: &Path, classes: &str, more: &[&str]) -> (Value, Ran) {
    let args =
        ["train", "--model", "lenet5", "--image-size", "32", "--classes", classes, "--batch", "8", "--json-times"];
    let ran = trainer(&[&args[..], &["--threads", "1", "--track", "off", "--data", text(data)], more].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    (serde_json::from_str(&ran.stdout).expect("one line of JSON"), ran)
}

fn accuracy(ran: &Value) -> Vec<f64> {
    ran["accuracy"].as_array().expect("a list").iter().map(|share| share.as_f64().expect("a share")).collect()
}

/// Four classes that a quarter of the image tells apart: what a network has learned it tells of images that it never saw. One
/// that guesses would be right a quarter of the time, and each run learns as many as it takes to be right of most.
#[test]
fn held_out_images_are_told_right_after_training() {
    let data = small_data(80);
    for only in ["all", "layers:0.6", "filters:0.6", "last:4"] {
        let more = ["--steps", "60", "--held-out", "16", "--train-only", only];
        let (ran, _) = lenet5(data.path(), "10", &more);
        let accuracy = accuracy(&ran);
        assert_eq!((accuracy.len(), ran["step_ns"].as_array().map(Vec::len)), (2, Some(60)), "{only}");
        assert!(accuracy[1] > accuracy[0] && accuracy[1] >= 0.75, "{only}: {accuracy:?}");
    }
}

/// Three days of four steps, with an accuracy before the first and after each. Held-out images are the same whatever is learned.
#[test]
fn days() {
    let data = small_data(60);
    let days = ["--steps", "4", "--days", "3", "--images-a-day", "8", "--held-out", "16"];
    let (new, said) = lenet5(data.path(), "10", &days);
    let (all, _) = lenet5(data.path(), "10", &[&days[..], &["--increment", "all"]].concat());
    assert_eq!((accuracy(&new).len(), new["step_ns"].as_array().map(Vec::len)), (4, Some(12)));
    assert!(said.stderr.contains("accuracy after 8 steps: "), "{}", said.stderr);
    let losses = |ran: &Value| ran["loss"].as_array().expect("a list").clone();
    assert_eq!(losses(&new)[..4], losses(&all)[..4], "the first day has nothing before it");
    assert_ne!(losses(&new)[4..], losses(&all)[4..], "later days do");
}

/// What a run wrote, the next one begins with: its accuracy, and its weights but for a last layer of another shape.
#[test]
fn weights_go_from_run_to_run() {
    let (data, folder) = (small_data(80), tempfile::tempdir().expect("a folder"));
    let path = folder.path().join("weights.safetensors");
    let save = ["--steps", "40", "--held-out", "16", "--save-weights", text(&path)];
    let (first, _) = lenet5(data.path(), "10", &save);
    let (second, said) = lenet5(data.path(), "10", &["--steps", "1", "--held-out", "16", "--weights", text(&path)]);
    assert_eq!(accuracy(&first)[1], accuracy(&second)[0]);
    assert!(!said.stderr.contains("random"), "{}", said.stderr);
    let (_, said) = lenet5(data.path(), "7", &["--steps", "1", "--train-only", "last:1", "--weights", text(&path)]);
    assert!(said.stderr.contains("gives 8 variables; random are still fc3.bias, fc3.weight"), "{}", said.stderr);
}

/// Each refusal says what to type instead.
#[test]
fn what_cannot_be() {
    let data = small_data(20);
    let folder = tempfile::tempdir().expect("a folder");
    let run = |more: &[&str]| {
        let args = ["train", "--model", "lenet5", "--image-size", "32", "--data", text(data.path()), "--track", "off"];
        trainer(&[&args[..], more].concat())
    };
    refused(&run(&["--train-only", "last:6"]), &["lenet5 has 5 layers with parameters", "give last:5 or fewer"]);
    refused(&run(&["--train-only", "half"]), &["half names no part of a network; give all, last:3"]);
    refused(&run(&["--held-out", "30"]), &["the data has 20 images", "give fewer"]);
    refused(&run(&["--days", "0"]), &["--days 0: there is nothing to do"]);
    refused(&run(&["--increment", "all"]), &["--days"]);
    let none = folder.path().join("none.safetensors");
    refused(&run(&["--weights", text(&none)]), &["there is no such file of weights", "--save-weights FILE"]);
    let dcgan = ["train", "--model", "dcgan", "--train-only", "last:1", "--data", text(data.path()), "--track", "off"];
    refused(&trainer(&dcgan), &["--train-only last:1: only networks that tell classes apart"]);
    let texts = ["train", "--model", "lstm", "--held-out", "8", "--data", "../docs", "--track", "off"];
    refused(&trainer(&texts), &["images are dealt out, and lstm reads texts"]);
    let precision = ["--train-only", "last:1", "--precision", "bf16"];
    refused(&run(&precision), &["--train-only last:1", "leave --precision bf16 out"]);
}
