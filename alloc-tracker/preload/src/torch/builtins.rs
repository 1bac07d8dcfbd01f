//! What Python calls for each module and each gradient, as functions of Python's own kind: a call costs a tenth of what it costs
//! through `ctypes`, and the modules that run are kept here. `alloc-tracker/python/alloc_tracker/_torch/running.py` does the same
//! where Python has no such functions, and says what each does.
//!
//! A module is told by its address, as `id` gives it: nothing here keeps one alive. A dictionary of Python's has what each is called,
//! and that name's number.
use std::ptr;

use alloc_tracker::unaided::as_tracker;

use super::layers;
use super::running::on_this_thread;
use crate::definition::{Definition, Object};
use crate::interpreter::Interpreter;

static FUNCTIONS: [Definition; 4] = [
    Definition::new(c"enter", enter),
    Definition::new(c"leave", leave),
    Definition::new(c"innermost", innermost),
    Definition::new(c"label_gradient", label_gradient),
];

/// A tuple of the functions, for this dictionary of paths; null where this is no Python that is known.
///
/// # Safety
/// The thread holds the interpreter's lock, and `paths` is a dictionary.
pub unsafe fn functions(paths: *mut Object) -> *mut Object {
    let Some(python) = Interpreter::of_process() else { return ptr::null_mut() };
    // SAFETY: as the caller promises.
    unsafe { python.functions(&FUNCTIONS, paths) }
}

/// Runs a function of these. One that is called with other arguments than it takes returns null, of which Python makes an exception.
///
/// # Safety
/// Python has called with `arguments` and `count`, and waits for the function.
unsafe fn with<const LEAST: usize>(
    arguments: *const *mut Object,
    count: isize,
    run: impl FnOnce(&'static Interpreter, &[*mut Object; LEAST], bool) -> *mut Object,
) -> *mut Object {
    let (Some(python), true) = (Interpreter::of_process(), count >= LEAST as isize) else { return ptr::null_mut() };
    // SAFETY: as the caller promises, there are at least so many.
    let given = std::array::from_fn(|place| unsafe { arguments.add(place).read() });
    run(python, &given, count > LEAST as isize)
}

/// `enter(module, anyway=False)`: enters the layer of a module. Returns whether it has: not without a path, and as the outermost
/// module only with a second argument.
///
/// # Safety
/// Python calls it, with a dictionary of paths.
unsafe extern "C" fn enter(paths: *mut Object, arguments: *const *mut Object, count: isize) -> *mut Object {
    let run = |python: &Interpreter, &[module]: &[*mut Object; 1], anyway: bool| {
        // SAFETY: as the caller promises, and the thread holds the interpreter's lock while Python waits.
        unsafe { enter_named(python, paths, module, anyway).map_or(ptr::null_mut(), |entered| python.truth(entered)) }
    };
    // SAFETY: as the caller promises.
    unsafe { with(arguments, count, run) }
}

/// What `enter` does; `None` with an exception.
///
/// # Safety
/// The thread holds the interpreter's lock, `paths` is a dictionary, and `module` an object.
pub unsafe fn enter_named(python: &Interpreter, paths: *mut Object, module: *mut Object, anyway: bool) -> Option<bool> {
    if running() == 0 && !anyway {
        return Some(false);
    }
    // SAFETY: as the caller promises. The path stays the dictionary's, because nothing of Python's runs before its number has been read.
    unsafe {
        let path = python.by_identity(paths, module);
        if path.is_null() {
            return (!python.has_failed()).then_some(false);
        }
        let number = python.item(path, 1);
        let number = (!number.is_null()).then(|| python.number(number)).flatten()?;
        push(module.addr(), number as u32);
        Some(true)
    }
}

/// A thread that ends tells of no module any more.
fn push(module: usize, layer: u32) {
    on_this_thread(|running| {
        let mut modules = running.modules.borrow_mut();
        if modules.len() == modules.capacity() {
            as_tracker(|| modules.reserve(1));
        }
        modules.push((module, layers::enter(layer)));
    });
}

/// `leave(module)`: leaves the layer of a module, and all in it that were not left. Returns whether the module was the outermost: not
/// where it does not run.
///
/// # Safety
/// Python calls it.
unsafe extern "C" fn leave(_paths: *mut Object, arguments: *const *mut Object, count: isize) -> *mut Object {
    let run = |python: &Interpreter, &[module]: &[*mut Object; 1], _| {
        // SAFETY: the thread holds the interpreter's lock while Python waits.
        unsafe { python.truth(leave_address(module.addr())) }
    };
    // SAFETY: as the caller promises.
    unsafe { with(arguments, count, run) }
}

/// How many modules run on this thread.
pub fn running() -> usize {
    on_this_thread(|running| running.modules.borrow().len()).unwrap_or(0)
}

/// What `leave` does, for the module at this address.
pub fn leave_address(module: usize) -> bool {
    on_this_thread(|running| pop(&mut running.modules.borrow_mut(), module)).unwrap_or(false)
}

fn pop(modules: &mut Vec<(usize, u64)>, module: usize) -> bool {
    let Some(place) = modules.iter().rposition(|&(one, _)| one == module) else { return false };
    layers::leave(modules[place].1);
    modules.truncate(place);
    place == 0
}

/// `innermost()`: the innermost module that runs on this thread, as `id` gives it; 0 where none runs.
///
/// # Safety
/// Python calls it.
unsafe extern "C" fn innermost(_paths: *mut Object, arguments: *const *mut Object, count: isize) -> *mut Object {
    let run = |python: &Interpreter, &[]: &[*mut Object; 0], _| {
        let innermost = on_this_thread(|running| running.modules.borrow().last().map_or(0, |&(module, _)| module));
        // SAFETY: the thread holds the interpreter's lock while Python waits.
        unsafe { python.of_address(innermost.unwrap_or(0)) }
    };
    // SAFETY: as the caller promises.
    unsafe { with(arguments, count, run) }
}

/// `label_gradient(address, layer)`: labels the storage at an address as a gradient, with the number of its layer. Returns whether it
/// was called with two numbers.
///
/// # Safety
/// Python calls it.
unsafe extern "C" fn label_gradient(_paths: *mut Object, arguments: *const *mut Object, count: isize) -> *mut Object {
    let run = |python: &Interpreter, given: &[*mut Object; 2], _| {
        // SAFETY: the thread holds the interpreter's lock while Python waits, and the arguments are objects.
        unsafe {
            let [Some(address), Some(layer)] = given.map(|number| python.number(number)) else {
                return ptr::null_mut();
            };
            layers::label_gradient(address, layer as u32, || false);
            python.truth(true)
        }
    };
    // SAFETY: as the caller promises.
    unsafe { with(arguments, count, run) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_left_with_all_in_it() {
        // A scope of 0 was never entered, so that leaving it leaves nothing.
        let mut running = vec![(1, 0), (2, 0), (3, 0)];
        assert!(!pop(&mut running, 4), "it does not run");
        assert_eq!(running.len(), 3);
        assert!(!pop(&mut running, 2), "another one is around it");
        assert_eq!(running, [(1, 0)]);
        assert!(pop(&mut running, 1), "the outermost");
        assert!(running.is_empty() && !pop(&mut running, 1));
    }

    #[test]
    fn a_module_that_runs_within_itself_is_left_once() {
        let mut running = vec![(1, 0), (2, 0), (1, 0)];
        assert!(!pop(&mut running, 1));
        assert_eq!(running, [(1, 0), (2, 0)]);
        assert!(pop(&mut running, 1));
    }
}
