//! The rules of `trainer plan --rules` beside runs: where a rule says that a node of libtorch's graph keeps something of a
//! layer, a node of this kind ran in the layer's backward pass. That each saves what its rule says, the trainer's own tests
//! hold to libtorch's header; that the bytes are right, `saved.rs` holds to what was measured.
use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tests::{Config, TEXT_MODELS, command, run};

/// Networks that have every kind of layer between them, and the side or length of their inputs.
const MODELS: [(&str, u64); 13] = [
    ("lenet5", 32),
    ("resnet18", 64),
    ("mobilenet_v2", 64),
    ("alexnet", 64),
    ("vgg16", 32),
    ("densenet40_12", 32),
    ("inception_v1", 64),
    ("bert_tiny", 8),
    ("char_cnn", 1014),
    ("lstm", 8),
    ("seq2seq", 8),
    ("dcgan", 64),
    ("dqn", 84),
];

fn rules(model: &str, size: u64) -> Value {
    let flag = if TEXT_MODELS.contains(&model) { "--length" } else { "--image-size" };
    let size = size.to_string();
    let ran =
        run(command("trainer").args(["plan", "--rules", "--json", "--model", model, "--batch", "2", flag, &size]));
    assert_eq!(ran.code, Some(0), "{model}: {}", ran.stderr);
    serde_json::from_str(&ran.stdout).expect("one JSON object")
}

fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("{name} is no list: {value}"))
}

/// Each layer's rules, and the nodes that ran in it.
#[test]
fn the_nodes_of_the_rules_run() {
    let mut seen = BTreeSet::new();
    for (model, size) in MODELS {
        let told = rules(model, size);
        let nodes: BTreeMap<&str, &Value> =
            list(&told, "rules").iter().map(|rule| (rule["rule"].as_str().expect("a name"), &rule["node"])).collect();
        let timeline = Config::train(model, 2, size, 2).run();
        let scopes = timeline.scopes.iter().filter(|scope| scope.phase.ends_with("backward"));
        let ran: BTreeSet<(&str, &str)> = scopes.map(|scope| (scope.layer.as_str(), scope.op.as_str())).collect();
        for kept in list(&told, "kept") {
            let (layer, rule) = (kept["layer"].as_str().expect("a layer"), kept["rule"].as_str().expect("a rule"));
            if let Some(node) = nodes[rule]["name"].as_str() {
                assert!(ran.contains(&(layer, node)), "{model}: {layer}, {rule}: no {node} ran");
            }
            seen.insert(rule.to_owned());
        }
    }
    assert!(seen.len() >= 45, "the networks have between them nearly every rule: {seen:?}");
}

/// What is counted sums to what the plan says is saved, by layer; what several keep is counted with the first of them.
#[test]
fn counted_bytes_are_the_plans() {
    for (model, size) in MODELS {
        let told = rules(model, size);
        let flag = if TEXT_MODELS.contains(&model) { "--length" } else { "--image-size" };
        let args = ["plan", "--json", "--model", model, "--batch", "2", flag, &size.to_string()];
        let ran = run(command("trainer").args(args));
        let plan: Value = serde_json::from_str(&ran.stdout).expect("one JSON object");
        let mut by_layer: BTreeMap<String, u64> = BTreeMap::new();
        for kept in list(&told, "kept") {
            let counted = kept["counted_bytes"].as_u64().expect("bytes");
            match kept["allocated_by"].as_str() {
                Some(owner) => *by_layer.entry(owner.to_owned()).or_default() += counted,
                None => assert_eq!(counted, 0, "{model}: the input is not what a network saves"),
            }
            assert_eq!(counted == 0, kept["counted_with"].is_object() || kept["allocated_by"].is_null(), "{kept}");
        }
        let saved: BTreeMap<String, u64> = serde_json::from_value(plan["saved_for_backward"].clone()).expect("bytes");
        assert_eq!(by_layer, saved, "{model}");
        assert_eq!(told["saved_bytes"], plan["saved_bytes"], "{model}");
    }
}
