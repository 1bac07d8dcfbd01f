//! The call of a module, with the module's layer around it: a function of Python's own kind that takes the place of PyTorch's
//! `torch.nn.Module._call_impl`. Hooks of all modules tell the same, but where there are hooks, PyTorch calls each module in another way,
//! which takes longer and stands in tracebacks. A function of this kind stands in none.
use std::ptr;

use super::builtins::{enter_named, leave_address, running};
use crate::definition::{Definition, Object};
use crate::interpreter::Interpreter;

static CALL: Definition = Definition::with_names(c"_call_impl", call);

/// The function, for a tuple of four: the dictionary of paths; `_call_impl` as it was; `begin(module, *arguments)`, for a module
/// that is the outermost or has no path; `end()`, when the outermost has ended. Null where this is no Python that is known, or too old.
///
/// # Safety
/// The thread holds the interpreter's lock, and `told` is such a tuple.
pub unsafe fn around(told: *mut Object) -> *mut Object {
    // SAFETY: as the caller promises.
    Interpreter::of_process().map_or(ptr::null_mut(), |python| unsafe { python.method(&CALL, told) })
}

/// # Safety
/// Python calls it, with the tuple that [`around`] was given and a module as the first argument.
unsafe extern "C" fn call(
    told: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    let (Some(python), Ok(count)) = (Interpreter::of_process(), usize::try_from(count)) else { return ptr::null_mut() };
    // SAFETY: as the caller promises. The thread holds the interpreter's lock, and the caller keeps the arguments until this returns.
    unsafe {
        let [paths, own, begin, end] = [0, 1, 2, 3].map(|place| python.item(told, place));
        if count == 0 {
            return python.call(own, arguments, count, names);
        }
        let (module, around) = (arguments.read(), running());
        let is_told = match enter_named(python, paths, module, false) {
            Some(true) => true,
            Some(false) => python.handle_signals() && python.tell(begin, arguments, count),
            None => {
                python.forget();
                true
            }
        };
        let has_entered = running() > around;
        let result = if is_told { python.call(own, arguments, count, names) } else { ptr::null_mut() };
        if has_entered && leave_address(module.addr()) {
            return python.ended(result, |_| python.tell(end, ptr::null(), 0));
        }
        result
    }
}
