//! The same on the tracker itself, which here sees no allocation: scopes and errors need none.
use alloc_torch_core::{Attribution, Gradient, Operator, OperatorStack, SequenceTable, Storage, TrackerHooks};
use alloc_tracker::Category;
use alloc_tracker::hooks::{self, Current, LabelError, Name};

static SEQUENCES: SequenceTable = SequenceTable::new();
static ATTRIBUTION: Attribution<TrackerHooks> = Attribution::new(TrackerHooks, &SEQUENCES);

#[test]
fn a_node_on_another_thread_runs_in_the_layer_of_its_operator() {
    ATTRIBUTION.prepare();
    let relu = Operator {
        is_backward: false,
        autocasts: false,
        name: b"aten::relu",
        sequence: 17,
        thread: 1,
        variable: None,
        gradient: Gradient::NotTold,
        inputs: &[],
        tensors: &[],
    };
    let node = Operator { is_backward: true, name: b"ReluBackward0", ..relu };
    {
        let stack = OperatorStack::new();
        let _layer = alloc_tracker::layer!("layer1.relu");
        ATTRIBUTION.operator_starts(&stack, &relu);
        let (layer, op) = (hooks::name("layer1.relu"), hooks::name("aten::relu"));
        assert_eq!(hooks::current(), Current { phase: Name(0), layer, op });
        ATTRIBUTION.operator_ends(&stack, None);
        assert_eq!(hooks::current(), Current { phase: Name(0), layer, op: Name(0) });
    }
    let engine = std::thread::spawn(move || {
        let stack = OperatorStack::new();
        ATTRIBUTION.operator_starts(&stack, &node);
        let current = hooks::current();
        ATTRIBUTION.operator_ends(&stack, None);
        (current, hooks::current())
    });
    let [phase, layer, op] = ["backward (derived)", "layer1.relu", "ReluBackward0"].map(hooks::name);
    assert_eq!(engine.join().expect("no panic"), (Current { phase, layer, op }, Current::default()));
}

#[test]
fn nothing_is_labelled_while_nobody_records() {
    let label = |storage| ATTRIBUTION.label(storage, Category::Input);
    assert_eq!(label(Storage::at(4096)), Err(LabelError::NotRecording));
}
