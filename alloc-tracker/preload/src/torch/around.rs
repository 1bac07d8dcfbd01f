//! A function of Python's own kind that takes the place of one of PyTorch's, such as a backward pass or the next batch of a loader, and calls another one
//! before it and after it. A function in Python would stand in the traceback of each exception that passes it, such as one that the user's dataset raises.
use std::ptr;

use crate::definition::{Definition, Object};
use crate::interpreter::Interpreter;
use crate::method::Kept;

static CALL: Definition = Definition::with_names(c"called", call);
/// The methods of PyTorch's classes that one of these takes the place of, by their numbers.
static METHODS: [Definition; 2] = [
    Definition::with_names(c"__next__", method::<0>).with_signature(c"__next__($self)\n--\n\n"),
    Definition::with_names(c"_apply", method::<1>).with_signature(c"_apply($self, fn, recurse=True)\n--\n\n"),
];
static TOLD: [Kept; METHODS.len()] = [const { Kept::new() }; METHODS.len()];

/// The method of this number, for a tuple of four: those of [`around_function`], and the class. Null as for that, and for another number.
///
/// # Safety
/// The thread holds the interpreter's lock, and `told` is such a tuple.
pub unsafe fn around_method(number: usize, told: *mut Object) -> *mut Object {
    let (Some(python), Some(definition)) = (Interpreter::of_process(), METHODS.get(number)) else {
        return ptr::null_mut();
    };
    // SAFETY: as the caller promises.
    unsafe { TOLD[number].method(python, definition, told) }
}

/// # Safety
/// Python calls it with an object of the class, after [`around_method`].
unsafe extern "C" fn method<const NUMBER: usize>(
    object: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    // SAFETY: as the caller promises. The thread holds the interpreter's lock, and the caller keeps the arguments until this returns.
    unsafe {
        TOLD[NUMBER]
            .called(object, (arguments, count, names), |_, told, arguments, count| call(told, arguments, count, names))
    }
}

/// The function, which can be a method, for a tuple of three: the function as it was; `begin()`, whose result goes to `end(begun, result)`; and that,
/// which gets `None` where an exception is on its way. Null where this is no Python that is known, or too old.
///
/// # Safety
/// The thread holds the interpreter's lock, and `told` is such a tuple.
pub unsafe fn around_function(told: *mut Object) -> *mut Object {
    // SAFETY: as the caller promises.
    Interpreter::of_process().map_or(ptr::null_mut(), |python| unsafe { python.method(&CALL, told) })
}

/// # Safety
/// Python calls it, with the tuple that [`around_function`] was given.
unsafe extern "C" fn call(
    told: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object {
    let (Some(python), Ok(count)) = (Interpreter::of_process(), usize::try_from(count)) else { return ptr::null_mut() };
    // SAFETY: as the caller promises. The thread holds the interpreter's lock, and the caller keeps the arguments until this returns.
    unsafe {
        let [own, begin, end] = [0, 1, 2].map(|place| python.item(told, place));
        if !python.handle_signals() {
            return ptr::null_mut();
        }
        let begun = python.call(begin, ptr::null(), 0, ptr::null_mut());
        if begun.is_null() {
            // A signal's handler has raised.
            return begun;
        }
        let between = |begun| {
            let result = python.call(own, arguments, count, names);
            let tell = |result: *mut Object| {
                let tell_beside = |nothing| {
                    let returned = if result.is_null() { nothing } else { result };
                    Some(python.tell(end, [begun, returned].as_ptr(), 2))
                };
                python.with_result(python.none(), tell_beside).unwrap_or(true)
            };
            Some(python.ended(result, tell))
        };
        python.with_result(begun, between).unwrap_or(ptr::null_mut())
    }
}
