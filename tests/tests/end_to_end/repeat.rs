//! From the second step on, the model alone decides what tensors hold at a step's peak: the bytes are the same in two
//! runs with one seed, and with one thread or two. (In the first step there is no momentum yet, and libtorch fills its
//! caches.)
//!
//! More threads take more workspace, and workspace decides in which operator the peak falls. Where two operators are
//! nearly as high, another number of threads can move the peak from one to the other, and with it the split:
//! MobileNetV1 at a batch below 16 peaks in `model.12.0` with one thread (at batch 4 with 2.0 MB of workspace), in
//! `model.13.3` with two (4.2 MB). So threads are compared where one operator is the highest by far, and at small
//! batches at the marks.
use alloc_timeline::{Category, Step, Timeline};
use tests::{Config, requested, tables};

const TENSORS: [Category; 5] =
    [Category::Parameter, Category::Gradient, Category::Activation, Category::OptimizerState, Category::Input];
const STEPS: u64 = 3;

fn trained(model: &'static str, batch: u64, side: u64, threads: u64, repetition: u64) -> &'static Timeline {
    Config { threads, repetition, ..Config::train(model, batch, side, STEPS) }.run()
}

/// Bytes of the five categories at the own peak of each step but the first.
fn at_the_peaks(timeline: &Timeline) -> Vec<[u64; 5]> {
    assert_eq!(timeline.steps.len(), STEPS as usize);
    let of = |step: &Step| TENSORS.map(|category| step.by_category.get(category.name()).copied().unwrap_or(0));
    timeline.steps[1..].iter().map(of).collect()
}

#[track_caller]
fn all_peaks_alike(first: &Timeline, second: &Timeline) {
    let expected = vec![at_the_peaks(first)[0]; STEPS as usize - 1];
    assert_eq!(at_the_peaks(first), expected, "within the first run");
    assert_eq!(at_the_peaks(second), expected, "in the second run");
}

#[test]
fn two_runs_with_one_seed() {
    for model in ["resnet18", "mobilenet_v1"] {
        for side in [64, 224] {
            all_peaks_alike(trained(model, 4, side, 1, 0), trained(model, 4, side, 1, 1));
        }
    }
}

#[test]
fn one_thread_and_two() {
    for (model, batch, side) in [("resnet18", 4, 64), ("resnet18", 4, 224), ("mobilenet_v1", 16, 224)] {
        all_peaks_alike(trained(model, batch, side, 1, 0), trained(model, batch, side, 2, 0));
    }
}

/// The same instants of both runs hold the same: requested bytes of every tensor category at every mark.
#[test]
fn one_thread_and_two_at_the_marks() {
    for side in [64, 224] {
        let [one, two] = [1, 2].map(|threads| trained("mobilenet_v1", 4, side, threads, 0));
        for mark in ["end of forward", "end of backward", "end of step"] {
            let [one, two] = [one, two].map(|timeline| -> Vec<[u64; 5]> {
                tables(timeline, mark).iter().map(|table| TENSORS.map(|category| requested(table, category))).collect()
            });
            assert_eq!(one.len(), STEPS as usize);
            assert_eq!(one, two, "{mark}, {side} px");
        }
    }
}
