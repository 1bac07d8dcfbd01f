//! Training loops of others, unchanged: Accelerate's, Lightning's and Hugging Face's Trainer. They need a Python with torch and with their
//! packages: the one that `ALLOC_TRACKER_TEST_PYTHON` names, or `python3`.
use alloc_timeline::{Category, Timeline};
use tests::{folder, requested_by_layer};

use super::python_torch::{python, python_that_imports, recorded, with_package};

/// What all loops of others show, unchanged: four steps, four phases, and a layer for every parameter and every gradient.
fn check_loop(timeline: &Timeline) {
    assert_eq!(timeline.steps.len(), 4);
    for phase in ["data", "forward", "backward", "optimizer"] {
        assert!(timeline.scopes.iter().any(|scope| scope.phase == phase && !scope.op.is_empty()), "{phase}");
    }
    for category in [Category::Parameter, Category::Gradient] {
        let by_layer = requested_by_layer(timeline, &timeline.peak, category);
        assert!(!by_layer.is_empty() && !by_layer.contains_key(""), "{category:?}: {by_layer:?}");
    }
}

/// Weights and biases of 64 x 128 and 128 x 32.
fn check_two_layers(timeline: &Timeline, names: [&str; 2]) {
    let sizes = [(64 * 128 + 128) * 4, (128 * 32 + 32) * 4];
    let expected: Vec<(String, u64)> = names.map(str::to_owned).into_iter().zip(sizes).collect();
    for category in [Category::Parameter, Category::Gradient] {
        let found = requested_by_layer(timeline, &timeline.peak, category);
        assert_eq!(found, expected.iter().cloned().collect(), "{category:?}");
    }
}

/// The loop of `package` in the program `name`, which trains two layers.
fn check_loop_of(package: &str, name: &str, layers: [&str; 2]) {
    let Some(python) = python_that_imports(&format!("torch, {package}")) else { return };
    let folder = folder();
    let (_, timeline) = recorded(with_package(&python), folder.path(), name);
    check_loop(&timeline);
    check_two_layers(&timeline, layers);
}

#[test]
fn a_loop_of_accelerates() {
    check_loop_of("accelerate", "accelerate_loop.py", ["0", "2"]);
}

#[test]
fn a_loop_of_lightnings() {
    check_loop_of("lightning", "lightning_loop.py", ["encoder.0", "head"]);
}

#[test]
fn a_loop_of_hugging_faces() {
    let Some(python) = python_that_imports("torch, transformers") else { return };
    let folder = folder();
    let (_, timeline) = recorded(with_package(&python), folder.path(), "transformers_loop.py");
    check_loop(&timeline);
    let parameters = requested_by_layer(&timeline, &timeline.peak, Category::Parameter);
    assert_eq!(parameters["bert.encoder.layer.1.attention.self.query"], (64 * 64 + 64) * 4);
    assert_eq!(parameters["bert.embeddings.word_embeddings"], 1000 * 64 * 4);
    let attention = timeline.high_waters.iter().find(|high| high.name == "bert.encoder.layer.0.attention.self");
    // Without its encoder's layers nothing of the attention would be told: 8 texts of 32 tokens, 64 features.
    assert!(attention.is_some_and(|high| high.requested_bytes >= Some(8 * 32 * 64 * 4)), "{attention:?}");
}

#[test]
fn parts_that_a_method_calls_have_the_paths_of_the_whole() {
    let Some(python) = python() else { return };
    let folder = folder();
    let (_, timeline) = recorded(python, folder.path(), "parts.py");
    check_two_layers(&timeline, ["encoder.0", "head"]);
    assert_eq!(timeline.steps.len(), 2);
}
