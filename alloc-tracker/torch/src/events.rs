//! The functions that the shim calls: they turn what it tells into plain data for the attribution.
use std::ffi::c_char;
use std::slice;

use alloc_torch_core::{Answer, Attribution, Gradient, Operator, OperatorStack, SequenceTable, Storage, TrackerHooks};

static SEQUENCES: SequenceTable = SequenceTable::new();

/// The process's own.
pub static ATTRIBUTION: Attribution<TrackerHooks> = Attribution::new(TrackerHooks, &SEQUENCES);

thread_local! {
    static OPERATORS: OperatorStack<TrackerHooks> = const { OperatorStack::new() };
}

/// An operator starts. Returns which arguments say what its layer is: 1 + that of the weight, then from bit 8 on that of the
/// stride and from bit 16 on that of the groups; 0: nothing is wanted.
///
/// # Safety
/// Called by the shim alone: `name` has `name_length` bytes, `inputs` `input_count` addresses, none of which is 0, and
/// `tensors` as many numbers.
#[unsafe(no_mangle)]
unsafe extern "C" fn alloc_torch_op_start(
    is_backward: bool,
    autocasts: bool,
    name: *const c_char,
    name_length: usize,
    sequence: i64,
    thread: u64,
    variable: usize,
    gradient_state: u8,
    inputs: *const Storage,
    tensors: *const usize,
    input_count: usize,
) -> u32 {
    // SAFETY: as the shim promises; a `Storage` is an address other than 0.
    let (name, inputs, tensors) = unsafe {
        (
            slice::from_raw_parts(name.cast::<u8>(), name_length),
            slice::from_raw_parts(inputs, input_count),
            slice::from_raw_parts(tensors, input_count),
        )
    };
    let gradient = match gradient_state {
        1 => Gradient::Off,
        2 => Gradient::None,
        3 => Gradient::ToCome,
        _ => Gradient::NotTold,
    };
    let variable = Storage::at(variable);
    let operator = Operator { is_backward, autocasts, name, sequence, thread, variable, gradient, inputs, tensors };
    let question = OPERATORS.with(|operators| ATTRIBUTION.operator_starts(operators, &operator));
    question.map_or(0, |wanted| u32::from_le_bytes([wanted.weight + 1, wanted.stride, wanted.groups, 0]))
}

/// The arguments that [`alloc_torch_op_start`] asked for.
///
/// # Safety
/// Called by the shim alone, before another operator starts on this thread: each pointer leads to as many values as the length
/// behind it says.
#[unsafe(no_mangle)]
unsafe extern "C" fn alloc_torch_layer_is(
    name: *const c_char,
    name_length: usize,
    weight: *const i64,
    weight_rank: usize,
    stride: *const i64,
    stride_length: usize,
    groups: i64,
) {
    // SAFETY: as the shim promises; an empty list may have no address.
    let numbers =
        |list: *const i64, length| unsafe { if length == 0 { &[][..] } else { slice::from_raw_parts(list, length) } };
    // SAFETY: as the shim promises.
    let name = unsafe { slice::from_raw_parts(name.cast::<u8>(), name_length) };
    let answer = Answer { weight: numbers(weight, weight_rank), stride: numbers(stride, stride_length), groups };
    ATTRIBUTION.layer_is(name, &answer);
}

/// The operator that started last on this thread ends; `gradient` is the storage of the gradient that it leaves, if it
/// is an AccumulateGrad node, else 0.
#[unsafe(no_mangle)]
extern "C" fn alloc_torch_op_end(gradient: usize) {
    OPERATORS.with(|operators| ATTRIBUTION.operator_ends(operators, Storage::at(gradient)));
}

/// The next aligned block of this thread is a storage, or that is taken back.
#[unsafe(no_mangle)]
extern "C" fn alloc_torch_expect_storage(expected: bool) {
    if expected {
        ATTRIBUTION.expect_storage();
    } else {
        ATTRIBUTION.expect_no_storage();
    }
}
