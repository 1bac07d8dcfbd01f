//! What the Python package calls, as a table of functions: `alloc-tracker/python/alloc_tracker/_torch/library.py` has the same
//! layout.
use std::ffi::{CStr, c_char, c_int};
use std::ptr;

use super::objects::Tensor;
use super::{around, builtins, calls, layers, tensors, trial};
use crate::definition::Object;

/// The functions.
#[repr(C)]
pub struct TorchApi {
    /// 9; what earlier versions had stands where it stood.
    version: u32,
    /// Begins a trial on the libtorch that is loaded. Null when it has begun; otherwise says why not.
    begin_trial: extern "C" fn() -> *const c_char,
    /// Says that the next operator or autograd node of the calling thread is this round's.
    look: extern "C" fn(),
    /// Ends a round: its operator and node have this sequence number.
    end_round: extern "C" fn(sequence: u64),
    /// Ends the trial. From now on is told what the trial has shown to be right: a sum of 1, operators by name; 2, the layers of
    /// backward operators; 4, what storages are for; 8, gradients.
    end_trial: extern "C" fn() -> c_int,
    /// The number of a layer's path.
    layer: unsafe extern "C" fn(path: *const c_char) -> u32,
    /// Enters a layer on the calling thread, whatever layer is active.
    enter_layer: extern "C" fn(layer: u32) -> u64,
    /// Leaves it; takes what `enter_layer` has returned on this thread.
    leave_layer: extern "C" fn(scope: u64),
    /// Labels the storage at an address as a gradient, with the number of its layer.
    label_gradient: extern "C" fn(address: u64, layer: u32),
    /// Python's own functions for this dictionary of paths, as a new tuple; null in a Python that is not known.
    functions: unsafe extern "C" fn(paths: *mut Object) -> *mut Object,
    /// The function around each call of a module, for a tuple of what it needs; null in a Python that is not known, or too old.
    around: unsafe extern "C" fn(told: *mut Object) -> *mut Object,
    /// Python's own functions of tensors, for a tuple of what they need, as a new tuple; null in a Python that is not known, or too old.
    of_tensors: unsafe extern "C" fn(told: *mut Object) -> *mut Object,
    /// The number of the layer that is active on the calling thread.
    active_layer: extern "C" fn() -> u32,
    /// The function around a backward pass or a compilation, for a tuple of what it needs; null in a Python that is not known, or
    /// too old.
    around_function: unsafe extern "C" fn(told: *mut Object) -> *mut Object,
    /// Says that the next variable of the calling thread that gets a gradient is this round's.
    look_for_gradient: extern "C" fn(),
    /// Ends a round: its variable has these objects and this memory, and the memory of its gradient begins at this address.
    end_gradient: extern "C" fn(object: u64, kind: u64, implementation: u64, storage: u64, data: u64, gradient: u64),
    /// The method around a loader's next batch (0) or around what gives a module's parameters other memory (1), for a tuple of what it needs; null in
    /// a Python that is not known, or too old.
    around_method: unsafe extern "C" fn(number: u32, told: *mut Object) -> *mut Object,
}

static API: TorchApi = TorchApi {
    version: 9,
    begin_trial,
    look,
    end_round,
    end_trial,
    layer,
    enter_layer,
    leave_layer,
    label_gradient,
    functions,
    around,
    of_tensors,
    active_layer,
    around_function,
    look_for_gradient,
    end_gradient,
    around_method,
};

/// The functions of this library.
#[unsafe(no_mangle)]
pub extern "C" fn alloc_tracker_torch_api() -> &'static TorchApi {
    &API
}

extern "C" fn begin_trial() -> *const c_char {
    trial::begin().map_or_else(|why| why.as_ptr(), |()| ptr::null())
}

extern "C" fn look() {
    trial::look();
}

extern "C" fn end_round(sequence: u64) {
    trial::end_round(sequence);
}

extern "C" fn end_trial() -> c_int {
    trial::end().cast_signed()
}

extern "C" fn look_for_gradient() {
    trial::look_for_gradient();
}

extern "C" fn end_gradient(object: u64, kind: u64, implementation: u64, storage: u64, data: u64, gradient: u64) {
    trial::end_gradient(&Tensor { object, kind, implementation, storage, data }, gradient);
}

/// # Safety
/// `path` is a C string.
unsafe extern "C" fn layer(path: *const c_char) -> u32 {
    // SAFETY: as the caller promises.
    layers::number(&unsafe { CStr::from_ptr(path) }.to_string_lossy())
}

extern "C" fn enter_layer(layer: u32) -> u64 {
    layers::enter(layer)
}

extern "C" fn leave_layer(scope: u64) {
    layers::leave(scope);
}

extern "C" fn active_layer() -> u32 {
    layers::active()
}

extern "C" fn label_gradient(address: u64, layer: u32) {
    layers::label_gradient(address, layer, || false);
}

/// # Safety
/// Python calls it with a dictionary.
unsafe extern "C" fn functions(paths: *mut Object) -> *mut Object {
    // SAFETY: as the caller promises; Python calls while the thread holds the interpreter's lock.
    unsafe { builtins::functions(paths) }
}

/// # Safety
/// Python calls it with the tuple.
unsafe extern "C" fn around(told: *mut Object) -> *mut Object {
    // SAFETY: as the caller promises; Python calls while the thread holds the interpreter's lock.
    unsafe { calls::around(told) }
}

/// # Safety
/// Python calls it with the tuple.
unsafe extern "C" fn around_function(told: *mut Object) -> *mut Object {
    // SAFETY: as the caller promises; Python calls while the thread holds the interpreter's lock.
    unsafe { around::around_function(told) }
}

/// # Safety
/// Python calls it with the tuple.
unsafe extern "C" fn around_method(number: u32, told: *mut Object) -> *mut Object {
    // SAFETY: as the caller promises; Python calls while the thread holds the interpreter's lock.
    unsafe { around::around_method(number as usize, told) }
}

/// # Safety
/// Python calls it with the tuple.
unsafe extern "C" fn of_tensors(told: *mut Object) -> *mut Object {
    // SAFETY: as the caller promises; Python calls while the thread holds the interpreter's lock.
    unsafe { tensors::functions(told) }
}
