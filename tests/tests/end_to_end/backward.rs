//! Which tensors are alive after the backward pass, and which are not any more.
use std::collections::BTreeMap;

use alloc_timeline::{Category, Snapshot, Timeline};
use tests::{Config, folder, requested, requested_by_layer, rows, run, tables};

/// Model, its parameters (published counts), and the channels of its batch norms.
const MODELS: [(&str, u64, u64); 2] = [("resnet18", 11_689_512, 4_800), ("mobilenet_v1", 4_231_976, 10_944)];
const STEPS: u64 = 3;

fn trained(model: &'static str) -> &'static Timeline {
    Config::train(model, 2, 64, STEPS).run()
}

/// The tables of a mark, one a step.
fn each_step<'a>(timeline: &'a Timeline, mark: &str) -> Vec<&'a Snapshot> {
    let tables = tables(timeline, mark);
    assert_eq!(tables.len(), STEPS as usize, "{mark}");
    tables
}

/// After backward no activation is alive: the graph was freed with the loss, and the gradients of activations with
/// their nodes.
#[test]
fn no_activation_is_alive_after_backward() {
    for (model, ..) in MODELS {
        for mark in ["end of backward", "end of step"] {
            for table in each_step(trained(model), mark) {
                assert_eq!(requested(table, Category::Activation), 0, "{model}, {mark}");
                assert_eq!(requested(table, Category::Workspace), 0, "{model}, {mark}");
            }
        }
    }
}

/// A gradient has its parameter's shape, 4 bytes an element; layer by layer, in every step.
#[test]
fn gradients_equal_parameters() {
    for (model, parameters, _) in MODELS {
        let timeline = trained(model);
        for table in each_step(timeline, "end of backward") {
            assert_eq!(requested(table, Category::Parameter), 4 * parameters, "{model}");
            assert_eq!(requested(table, Category::Gradient), 4 * parameters, "{model}");
            assert_eq!(
                requested_by_layer(timeline, table, Category::Gradient),
                requested_by_layer(timeline, table, Category::Parameter),
                "{model}"
            );
        }
    }
}

/// SGD keeps one momentum an element, from its first step on; `zero_grad` lets the gradients go.
#[test]
fn momentum_comes_with_the_first_optimizer_step() {
    for (model, parameters, _) in MODELS {
        let timeline = trained(model);
        let at = |mark, category| -> Vec<u64> {
            each_step(timeline, mark).into_iter().map(|table| requested(table, category)).collect()
        };
        let state = 4 * parameters;
        assert_eq!(at("end of forward", Category::OptimizerState), [0, state, state], "{model}");
        assert_eq!(at("end of backward", Category::OptimizerState), [0, state, state], "{model}");
        assert_eq!(at("end of step", Category::OptimizerState), [state, state, state], "{model}");
        assert_eq!(at("end of forward", Category::Gradient), [0, 0, 0], "{model}");
        assert_eq!(at("end of step", Category::Gradient), [0, 0, 0], "{model}");
    }
}

/// Usable bytes of one category, by layer: what a table of the peak shows.
fn usable_by_layer(timeline: &Timeline, table: &Snapshot, category: Category) -> BTreeMap<String, u64> {
    let mut by_layer = BTreeMap::new();
    for (scope, row) in rows(timeline, table).filter(|(_, row)| row.category == category) {
        *by_layer.entry(scope.layer.clone()).or_default() += row.usable_bytes;
    }
    by_layer
}

/// An optimizer's state belongs to its parameter's layer, and none of it to no layer: momentum, which is as large as the
/// parameters, and both of Adam's moments. ResNet-18 has 46,761,472 usable bytes of parameters.
#[test]
fn an_optimizers_state_is_of_its_parameters_layer() {
    let folder = folder();
    for (optimizer, states) in [("sgd", 1), ("adam", 2)] {
        let out = folder.path().join(format!("{optimizer}.timeline.json"));
        let ran = run(Config::train("resnet18", 2, 64, 2).command(&out).args(["--optimizer", optimizer]));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let timeline = alloc_timeline::load(&out).expect("a timeline");
        let table = *tables(&timeline, "end of step").last().expect("a table");
        let parameters = usable_by_layer(&timeline, table, Category::Parameter);
        let expected: BTreeMap<String, u64> =
            parameters.iter().map(|(layer, bytes)| (layer.clone(), bytes * states)).collect();
        assert_eq!(usable_by_layer(&timeline, table, Category::OptimizerState), expected, "{optimizer}");
        assert_eq!(parameters.values().sum::<u64>(), 46_761_472);
        assert!(!parameters.contains_key(""), "every parameter has a layer");
    }
}

/// The program names its phases and steps: none of them is left to operators.
#[test]
fn nothing_is_derived_in_a_program_that_names_its_phases() {
    for (model, ..) in MODELS {
        assert_eq!(trained(model).derived_phases, Vec::<String>::new(), "{model}");
        assert!(trained(model).steps.iter().all(|step| !step.derived), "{model}");
    }
}

/// What never changes: batch norm's running mean and variance (8 bytes a channel), two images of 3 x 64 x 64 and
/// their labels of 8 bytes.
#[test]
fn buffers_and_input() {
    for (model, _, channels) in MODELS {
        for mark in ["end of forward", "end of backward", "end of step"] {
            for table in each_step(trained(model), mark) {
                assert_eq!(requested(table, Category::Buffer), 8 * channels, "{model}, {mark}");
                assert_eq!(requested(table, Category::Input), 2 * (3 * 64 * 64 * 4 + 8), "{model}, {mark}");
            }
        }
    }
}
