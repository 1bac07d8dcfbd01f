//! The call of a module, with the module's layer around it: a function of Python's own kind that takes the place of PyTorch's
//! `torch.nn.Module._call_impl`. Hooks of all modules tell the same, but where there are hooks, PyTorch calls each module in another way,
//! which takes longer and stands in tracebacks. A function of this kind stands in none.
use std::ptr;

use super::builtins::{enter_named, leave_address, running};
use crate::definition::{Definition, Object};
use crate::interpreter::Interpreter;
use crate::method::Kept;

static CALL: Definition =
    Definition::with_names(c"_call_impl", call).with_signature(c"_call_impl($self, *args, **kwargs)\n--\n\n");
static TOLD: Kept = Kept::new();

/// The method, for a tuple of five: the dictionary of paths; `_call_impl` as it was; `begin(module, *arguments)`, for a module
/// that is the outermost or has no path; `end(result)`, when the outermost has ended, or `end()` where that has raised; and the class. Null where this is no Python that is known,
/// or too old.
///
/// # Safety
/// The thread holds the interpreter's lock, and `told` is such a tuple.
pub unsafe fn around(told: *mut Object) -> *mut Object {
    // SAFETY: as the caller promises.
    Interpreter::of_process().map_or(ptr::null_mut(), |python| unsafe { TOLD.method(python, &CALL, told) })
}

/// # Safety
/// Python calls it with a module, after [`around`].
unsafe extern "C" fn call(
    module: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    // SAFETY: as the caller promises. The thread holds the interpreter's lock, and the caller keeps the arguments until this returns.
    unsafe {
        TOLD.called(module, (arguments, count, names), |python, told, arguments, count| {
            call_module(python, told, module, (arguments, count.cast_unsigned(), names))
        })
    }
}

/// # Safety
/// As for [`call`]; `told` is the tuple of [`around`], and the module the first of the arguments.
unsafe fn call_module(
    python: &'static Interpreter,
    told: *mut Object,
    module: *mut Object,
    (arguments, count, names): (*const *mut Object, usize, *mut Object),
) -> *mut Object {
    // SAFETY: as the caller promises.
    unsafe {
        let [paths, own, begin, end] = [0, 1, 2, 3].map(|place| python.item(told, place));
        let around = running();
        let is_told = match enter_named(python, paths, module, false) {
            Some(true) => true,
            Some(false) => {
                // The values of named arguments stand behind the others.
                let named = if names.is_null() { 0 } else { python.length(names).cast_unsigned() };
                python.handle_signals() && python.tell(begin, arguments, count + named)
            }
            None => {
                python.forget();
                true
            }
        };
        let has_entered = running() > around;
        let result = if is_told { python.call(own, arguments, count, names) } else { ptr::null_mut() };
        if has_entered && leave_address(module.addr()) {
            return python.ended(result, |result| python.tell(end, &raw const result, usize::from(!result.is_null())));
        }
        result
    }
}
