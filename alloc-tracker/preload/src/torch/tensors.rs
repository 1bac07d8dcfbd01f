//! What Python asks of tensors for each parameter in each step, as functions of Python's own kind: where a storage begins, and the label of
//! a gradient. In Python, both take longer than a small network's operators.
//! `alloc-tracker/python/alloc_tracker/_torch/tensors.py` and `labels.py` do the same where Python has no such functions.
use std::ptr;
use std::sync::OnceLock;

use super::layers;
use super::objects::{Objects, as_they_are};
use crate::definition::{Definition, Object};
use crate::interpreter::Interpreter;

/// How the memory of a tensor is found without asking Python, if that is known.
static OBJECTS: OnceLock<Objects> = OnceLock::new();

static FUNCTIONS: [Definition; 2] =
    [Definition::new(c"storage", storage), Definition::new(c"label_gradient_of", label_gradient_of)];

/// From now on, the memory of a tensor is found by its objects.
pub fn begin(objects: Objects) {
    let _ = OBJECTS.set(objects);
}

/// A tuple of the functions, for a tuple of seven: the dictionary of parameters, each with its layer's name and number; and the texts `grad`,
/// `fake_mode`, `data_ptr`, `storage_offset`, `element_size` and `_local_tensor`. Null where this is no Python that is known, or too old.
///
/// # Safety
/// The thread holds the interpreter's lock, and `told` is such a tuple.
pub unsafe fn functions(told: *mut Object) -> *mut Object {
    let Some(python) = Interpreter::of_process().filter(|python| python.calls()) else { return ptr::null_mut() };
    // SAFETY: as the caller promises.
    unsafe { python.functions(&FUNCTIONS, told) }
}

/// `storage(tensor)`: where the storage of a tensor begins, in the memory of its device; 0 where it has none, and for what is no tensor.
///
/// # Safety
/// Python calls it, with the tuple that [`functions`] was given.
unsafe extern "C" fn storage(told: *mut Object, arguments: *const *mut Object, count: isize) -> *mut Object {
    let Some(python) = Interpreter::of_process().filter(|_| count == 1) else { return ptr::null_mut() };
    // SAFETY: as the caller promises. The thread holds the interpreter's lock, and there is one argument.
    unsafe { python.of_address(storage_of(python, told, arguments.read()).unwrap_or(0) as usize) }
}

/// `label_gradient_of(parameter)`: labels the gradient of a parameter, where that has a layer. It never raises.
///
/// # Safety
/// Python calls it, with the tuple that [`functions`] was given.
unsafe extern "C" fn label_gradient_of(told: *mut Object, arguments: *const *mut Object, count: isize) -> *mut Object {
    let Some(python) = Interpreter::of_process().filter(|_| count == 1) else { return ptr::null_mut() };
    // SAFETY: as the caller promises. The thread holds the interpreter's lock, and there is one argument.
    unsafe {
        let parameter = arguments.read();
        let at = python.attribute(parameter, python.item(told, 1), |gradient| storage_of(python, told, gradient));
        if let (Some(at), Some(layer)) = (at, layer(python, python.item(told, 0), parameter)) {
            layers::label_gradient(at, layer, || false);
        }
        python.none()
    }
}

/// Where the storage of a tensor begins, if it has one. Leaves no exception.
///
/// # Safety
/// The thread holds the interpreter's lock, `told` is the tuple, and `tensor` an object.
unsafe fn storage_of(python: &Interpreter, told: *mut Object, tensor: *mut Object) -> Option<u64> {
    // SAFETY: as the caller promises, and so the tensor's objects are alive.
    unsafe {
        if let Some(objects) = OBJECTS.get()
            && let Some(implementation) = objects.implementation(tensor)
        {
            return objects.data(implementation, as_they_are());
        }
        let [fake_mode, data_ptr, offset, element] = [2, 3, 4, 5].map(|place| python.item(told, place));
        if python.attribute(tensor, fake_mode, |_| Some(())).is_some() {
            // A `FakeTensor`, which has no memory. PyTorch warns of who asks where it is.
            return None;
        }
        let Some(first) = python.number_of(tensor, data_ptr).filter(|&first| first != 0) else {
            // A `DTensor` is a part of a tensor, and the others are elsewhere.
            return python.attribute(tensor, python.item(told, 6), |local| storage_of(python, told, local));
        };
        match python.number_of(tensor, offset)? {
            0 => Some(first),
            elements => first.checked_sub(elements.checked_mul(python.number_of(tensor, element)?)?),
        }
    }
}

/// The number of a parameter's layer, which the dictionary has. Leaves no exception.
///
/// # Safety
/// The thread holds the interpreter's lock, `layers` is the dictionary, and `parameter` an object.
unsafe fn layer(python: &Interpreter, layers: *mut Object, parameter: *mut Object) -> Option<u32> {
    // SAFETY: as the caller promises. The dictionary owns what it has, and nothing of Python's runs meanwhile.
    unsafe {
        let named = python.by_identity(layers, parameter);
        let number = if named.is_null() { named } else { python.item(named, 1) };
        let number = if number.is_null() { None } else { python.number(number) };
        if number.is_none() {
            python.forget();
        }
        number.map(|number| number as u32)
    }
}
