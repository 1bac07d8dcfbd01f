//! The peak that `trainer plan` predicts from shapes beside the one of a run: what is live outside of the operator that runs
//! at the peak is equal to the byte, by phase, layer and category. What that operator has besides is the difference.
use serde_json::Value;
use tests::{DATA, command, folder, run, text};

/// Chains, residual blocks with and without projections, branches, concatenations, pools with indices, dropout; attention.
const MODELS: [(&str, [&str; 2]); 9] = [
    ("lenet5", ["--image-size", "32"]),
    ("resnet18", SMALL),
    ("mobilenet_v2", SMALL),
    ("squeezenet1_1", SMALL),
    ("densenet40_12", ["--image-size", "32"]),
    ("inception_v1", SMALL),
    ("xception", ["--image-size", "97"]),
    ("bert_tiny", ["--length", "16"]),
    ("char_cnn", ["--length", "1014"]),
];
const SMALL: [&str; 2] = ["--image-size", "64"];
/// Texts that every copy of the repository has.
const TEXTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");
/// The plan knows tensors that outlive their operator, and nothing else.
const NOT_MODELLED: [&str; 4] = ["workspace", "metadata", "runtime", "other"];

fn compared(model: &str, batch: &str, [flag, number]: [&str; 2], optimizer: &str) -> Value {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let size = ["--model", model, "--batch", batch, flag, number, "--optimizer", optimizer];
    let data = if flag == "--length" { TEXTS } else { DATA };
    let more = ["--steps", "2", "--threads", "1", "--data", data, "--out", text(&out)];
    let ran = run(command("trainer").arg("train").args(size).args(more));
    assert_eq!(ran.code, Some(0), "{model}: {}", ran.stderr);
    let ran = run(command("trainer").arg("plan").args(size).args(["--json", "--measured", text(&out)]));
    assert_eq!(ran.code, Some(0), "{model}: {}", ran.stderr);
    serde_json::from_str(&ran.stdout).expect("one JSON object")
}

fn check(model: &str, batch: &str, size: [&str; 2], optimizer: &str) {
    let compared = compared(model, batch, size, optimizer);
    let (predicted, measured) = (&compared["predicted"], &compared["measured"]);
    assert!(predicted["bytes"].as_u64() <= measured["bytes"].as_u64(), "{model}: {compared}");
    // Nearly all have their peak while an operator has workspace, and the plan knows that instant. Without workspace nothing
    // tells which operator ran: then both have their own peak, which is the same one.
    let running = if measured["operator"].is_null() { predicted } else { measured };
    assert_eq!(measured["operator"].is_null(), compared["predicted_at_that_instant"].is_null(), "{model}: {compared}");
    let rows = compared["by_operator"].as_array().expect("rows");
    assert!(rows.iter().any(|row| row["category"] == "parameter" || row["category"] == "all others"), "{compared}");
    for row in rows {
        let is_running = row["phase"] == running["phase"] && row["layer"] == running["layer"];
        let is_modelled = !NOT_MODELLED.iter().any(|category| row["category"] == *category);
        if is_modelled && !is_running {
            assert_eq!(row["predicted"], row["measured"], "{model} {optimizer}: {row}\n{compared}");
        }
    }
}

#[test]
fn what_is_live_outside_of_the_running_operator() {
    for (model, size) in MODELS {
        check(model, "3", size, "sgd");
    }
}

/// Two states a parameter; and one with a temporary.
#[test]
fn other_optimizers() {
    for optimizer in ["adam", "nesterov", "adagrad"] {
        check("resnet18", "3", SMALL, optimizer);
    }
}

/// A step with three passes and two updates; one that plays, draws from a replay buffer and asks a second network. In small
/// batches the optimizer has the peak, in large ones a backward pass.
#[test]
fn steps_of_more_than_one_pass() {
    for (model, batch, side, optimizer) in [
        ("dcgan", "3", "64", "adam"),
        ("dcgan", "96", "64", "sgd"),
        ("dqn", "4", "84", "rmsprop"),
        ("dqn", "256", "84", "sgd"),
    ] {
        check(model, batch, ["--image-size", side], optimizer);
    }
}

/// A timeline of another run is refused, with the flag that differs.
#[test]
fn another_run_is_refused() {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let more = ["--image-size", "32", "--threads", "1", "--data", DATA, "--out", text(&out)];
    let ran = run(command("trainer").args(["train", "--model", "lenet5", "--batch", "2", "--steps", "1"]).args(more));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for (size, says) in [
        (["--batch", "4"], "its batch is 2, and 4 was asked for; give --batch as that run had it"),
        (["--optimizer", "adam"], "its optimizer is \"sgd\", and \"adam\" was asked for"),
        (
            ["--batch", "2"],
            "it has 1 step, and the optimizer's state is there from the second on; record with --steps 2",
        ),
    ] {
        let plan = ["plan", "--model", "lenet5", "--image-size", "32", "--measured", text(&out)];
        let batch = if size[0] == "--batch" { &[][..] } else { &["--batch", "2"] };
        let ran = run(command("trainer").args(plan).args(batch).args(size));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{size:?}");
        assert!(ran.stderr.contains(says), "{}", ran.stderr);
    }
}
