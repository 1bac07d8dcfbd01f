//! Which tensors are alive after the backward pass, and which are not any more.
use alloc_timeline::{Category, Snapshot, Timeline};
use tests::{Config, requested, requested_by_layer, tables};

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
