//! What `trainer plan` and `trainer models` say of eleven networks, held to torchvision's own: parameters, and the bytes that
//! PyTorch's autograd graph saves, by layer. Both are equal to the byte.
//!
//! The numbers of torchvision are in `fixtures/torchvision/saved_bytes.json`; `saved_bytes.py` beside it says how PyTorch was
//! asked. `saved.rs` compares the same plan with what our runs measure.
use std::collections::BTreeMap;

use serde_json::Value;
use tests::{command, run};

const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/torchvision/saved_bytes.json");
/// The loss, one f32. The trainer holds it, so it is in our plan; the graph saves no loss, so it is not in PyTorch's hooks.
const LOSS_BYTES: u64 = 4;

type ByLayer = BTreeMap<String, u64>;

/// The fixture, and the number of classes that its models have.
fn fixture() -> (Value, String) {
    let text = std::fs::read_to_string(FIXTURE).unwrap_or_else(|error| panic!("{FIXTURE}: {error}"));
    let fixture: Value = serde_json::from_str(&text).expect("JSON");
    let classes = fixture["classes"].to_string();
    (fixture, classes)
}

/// The models of the fixture by their names, which are the trainer's.
fn models(fixture: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let models = fixture["models"].as_object().expect("models by name");
    assert!(models.len() >= 10, "ten models or more are compared");
    models.iter()
}

fn json(args: &[&str]) -> Value {
    let ran = run(command("trainer").args(args));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).expect("JSON")
}

#[test]
fn parameters_are_torchvisions() {
    let (fixture, _) = fixture();
    let listed = json(&["models", "--json"]);
    let listed = listed.as_array().expect("an array");
    for (name, theirs) in models(&fixture) {
        let ours = listed.iter().find(|entry| entry["model"] == **name);
        let ours = ours.unwrap_or_else(|| panic!("{name} is not listed"));
        assert_eq!(ours["parameters"], theirs["parameters"], "{name}");
    }
}

#[test]
fn saved_bytes_are_torchvisions_by_layer() {
    let (fixture, classes) = fixture();
    for (name, theirs) in models(&fixture) {
        let cases = theirs["cases"].as_array().expect("an array");
        assert!(cases.iter().any(|case| case["by_layer"].is_object()), "{name} is compared by layer");
        for case in cases {
            let (batch, side) = (case["batch"].to_string(), case["image_size"].to_string());
            let plan = json(&[
                "plan",
                "--json",
                "--model",
                name,
                "--batch",
                &batch,
                "--image-size",
                &side,
                "--classes",
                &classes,
            ]);
            let ours = plan["saved_bytes"].as_u64().expect("bytes") - LOSS_BYTES;
            assert_eq!(ours, case["saved_bytes"], "{name}, batch {batch}, {side} px");
            let Some(by_layer) = case.get("by_layer") else { continue };
            let theirs: ByLayer = serde_json::from_value(by_layer.clone()).expect("bytes by layer");
            let mut ours: ByLayer = serde_json::from_value(plan["saved_for_backward"].clone()).expect("bytes by layer");
            *ours.get_mut("loss").expect("a loss") -= LOSS_BYTES;
            assert_eq!(ours, theirs, "{name}, batch {batch}, {side} px");
        }
    }
}
