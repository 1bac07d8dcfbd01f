//! Phases of operators to which the program gave none.
mod made_up;

use alloc_torch_core::Gradient;
use alloc_tracker::DerivedPhase;
use made_up::Thread;

const WEIGHT: usize = 0x1000;
const GRADIENT: usize = 0x2000;
const IMAGES: usize = 0x3000;
const STATE: usize = 0x4000;

/// Storages, each of a tensor that is seen once.
fn of(storages: &[usize]) -> Vec<(usize, usize)> {
    storages.iter().map(|&storage| (storage, storage + 1)).collect()
}

/// An operator starts in this phase and no layer.
fn runs(thread: &Thread, name: &'static str, gradient: Gradient, storages: &[usize], phase: &'static str) {
    thread.takes(name, gradient, &of(storages), [phase, "", name]);
}

/// The weight has been given a gradient.
fn trained(thread: &Thread) {
    thread.accumulates(WEIGHT, ["backward (derived)", "", "torch::autograd::AccumulateGrad"]);
    thread.ends();
    thread.tracker.allocates_in_phase(GRADIENT, "backward (derived)");
}

#[test]
fn the_nature_of_an_operator_tells_its_phase() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    runs(&thread, "aten::randn", Gradient::None, &[], "");
    runs(&thread, "aten::conv2d", Gradient::NotTold, &[IMAGES, WEIGHT], "");
    runs(&thread, "aten::add_", Gradient::None, &[IMAGES], "");
    runs(&thread, "aten::conv2d", Gradient::ToCome, &[IMAGES, WEIGHT], "forward (derived)");
    runs(&thread, "aten::conv2d", Gradient::Off, &[IMAGES, WEIGHT], "infer (derived)");
    runs(&thread, "aten::randn", Gradient::Off, &[], "infer (derived)");
    // Reading a loss needs no gradient, whatever the loss needs.
    runs(&thread, "aten::item", Gradient::ToCome, &[IMAGES], "");
    runs(&thread, "aten::item", Gradient::Off, &[IMAGES], "infer (derived)");
    let phases = [DerivedPhase::Forward, DerivedPhase::Infer, DerivedPhase::Infer, DerivedPhase::Infer];
    assert_eq!(TRACKER.state().ran_in, phases);
}

/// Adam as libtorch has it: moments like the parameter, which then are made of the gradient, and an update in place. A
/// pass over a batch with the same weights is none.
#[test]
fn an_optimizer_works_on_parameters_gradients_and_its_own() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    runs(&thread, "aten::zeros_like", Gradient::Off, &[WEIGHT], "infer (derived)");
    trained(&thread);
    runs(&thread, "aten::zeros_like", Gradient::Off, &[WEIGHT], "optimizer (derived)");
    TRACKER.allocates_in_phase(STATE, "optimizer (derived)");
    runs(&thread, "aten::addcmul_", Gradient::Off, &[STATE, GRADIENT, GRADIENT], "optimizer (derived)");
    runs(&thread, "aten::sqrt", Gradient::Off, &[STATE], "optimizer (derived)");
    runs(&thread, "aten::addcdiv_", Gradient::Off, &[WEIGHT, STATE, STATE], "optimizer (derived)");
    runs(&thread, "aten::conv2d", Gradient::Off, &[IMAGES, WEIGHT], "infer (derived)");
    runs(&thread, "aten::empty", Gradient::Off, &[], "infer (derived)");
    // The norm of a gradient, while nobody has switched gradients off.
    runs(&thread, "aten::norm", Gradient::None, &[GRADIENT], "optimizer (derived)");
    runs(&thread, "aten::zeros_like", Gradient::ToCome, &[WEIGHT], "optimizer (derived)");
    runs(&thread, "aten::mul", Gradient::ToCome, &[WEIGHT], "forward (derived)");
}

/// A parameter that moved left its address, where an activation lies now.
#[test]
fn what_lies_where_a_parameter_lay_is_none() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    trained(&thread);
    TRACKER.allocates_in_phase(WEIGHT, "infer (derived)");
    runs(&thread, "aten::relu", Gradient::Off, &[WEIGHT], "infer (derived)");
}

#[test]
fn a_named_phase_wins() {
    attribution!(TRACKER, ATTRIBUTION, thread);
    trained(&thread);
    TRACKER.state().ran_in.clear();
    TRACKER.enters("loss", "");
    runs(&thread, "aten::conv2d", Gradient::ToCome, &[IMAGES, WEIGHT], "loss");
    runs(&thread, "aten::zeros_like", Gradient::Off, &[WEIGHT], "loss");
    assert_eq!(TRACKER.state().ran_in, []);
}

/// The engine may run on threads of its own, to which the program's phase does not go: where the program names its backward
/// passes, that phase is no derived one.
#[test]
fn a_backward_pass_that_the_program_names_is_not_derived_on_other_threads() {
    attribution!(TRACKER, ATTRIBUTION);
    let (main, engine) = (Thread::new(&ATTRIBUTION, &TRACKER, 1), Thread::new(&ATTRIBUTION, &TRACKER, 2));
    engine.node("ReluBackward0", (1, 17), ["backward (derived)", "", "ReluBackward0"]);
    // Within a derived phase nobody has named anything.
    engine.node("AddBackward0", (1, 18), ["backward (derived)", "", "AddBackward0"]);
    engine.ends();
    engine.ends();
    engine.node("ReluBackward0", (1, 17), ["backward (derived)", "", "ReluBackward0"]);
    engine.ends();
    TRACKER.enters("generator/backward", "");
    runs(&main, "aten::ones_like", Gradient::ToCome, &[IMAGES], "generator/backward");
    TRACKER.enters("", "");
    engine.node("ReluBackward0", (1, 17), ["backward", "", "ReluBackward0"]);
    engine.ends();
}
