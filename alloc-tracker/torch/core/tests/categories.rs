//! What a storage is for, by the scope that allocates it.
mod made_up;

use alloc_torch_core::{Hooks, Storage};
use alloc_tracker::Category;
use alloc_tracker::hooks::{LabelError, Name};

#[test]
fn phase_and_operator_say_what_a_storage_is_for() {
    attribution!(TRACKER, ATTRIBUTION);
    let table = [
        ("", "", Category::Activation),
        ("", "aten::conv2d", Category::Activation),
        ("forward", "aten::conv2d", Category::Activation),
        ("loss", "aten::mean", Category::Activation),
        ("backward", "ConvolutionBackward0", Category::Activation),
        // A scope that found no place in the tracker's table.
        ("other scopes", "", Category::Activation),
        // Only these very names: not a phase that begins so, nor an operator of a phase's name.
        ("data loading", "", Category::Activation),
        ("optimizer/forward", "", Category::Activation),
        // Of a name with parts the last one: a step may have several passes with an optimizer each.
        ("generator/optimizer", "aten::zeros_like", Category::OptimizerState),
        ("discriminator/real/data", "", Category::Input),
        ("discriminator/real/loss", "", Category::Activation),
        ("generator/backward", "torch::autograd::AccumulateGrad", Category::Gradient),
        ("", "optimizer", Category::Activation),
        ("data", "", Category::Input),
        ("data", "aten::stack", Category::Input),
        ("optimizer", "", Category::OptimizerState),
        ("optimizer", "aten::zeros_like", Category::OptimizerState),
        ("optimizer (derived)", "aten::zeros_like", Category::OptimizerState),
        ("forward (derived)", "aten::conv2d", Category::Activation),
        ("init", "aten::randn", Category::Other),
        ("runtime", "", Category::Other),
        ("backward", "torch::autograd::AccumulateGrad", Category::Gradient),
        // The operator that leaves gradients wins over every phase.
        ("", "torch::autograd::AccumulateGrad", Category::Gradient),
        ("data", "torch::autograd::AccumulateGrad", Category::Gradient),
        ("optimizer", "torch::autograd::AccumulateGrad", Category::Gradient),
        ("init", "torch::autograd::AccumulateGrad", Category::Gradient),
    ];
    let tracker = &&TRACKER;
    for (phase, op, category) in table {
        TRACKER.enters(phase, "some layer");
        let entered = tracker.enter_op(Hooks::name(tracker, op), None, Name(0), 1);
        ATTRIBUTION.expect_storage();
        assert_eq!(TRACKER.state().expected.last(), Some(&Some(category)), "phase {phase:?}, operator {op:?}");
        tracker.leave(entered);
    }
}

#[test]
fn an_expected_storage_can_be_taken_back() {
    attribution!(TRACKER, ATTRIBUTION);
    ATTRIBUTION.expect_storage();
    ATTRIBUTION.expect_no_storage();
    assert_eq!(TRACKER.state().expected, [Some(Category::Activation), None]);
}

#[test]
fn a_label_needs_a_storage() {
    attribution!(TRACKER, ATTRIBUTION);
    assert_eq!(ATTRIBUTION.label(None, Category::Input), Err(LabelError::UnknownBlock));
    assert_eq!(ATTRIBUTION.label(Storage::at(4096), Category::Input), Ok(()));
    assert_eq!(TRACKER.state().labels, [(4096, Category::Input, None)]);
}
