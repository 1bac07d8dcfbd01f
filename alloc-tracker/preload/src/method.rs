//! Methods of Python's own kind (`method_descriptor`), as those of classes in C are. Whoever takes one from its class, puts another function
//! in its place and later puts it back has a method again. Such a method knows of nothing but its object: what it needs besides is kept here.
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicPtr, Ordering};

use alloc_tracker::unaided::as_tracker;

use crate::definition::{Definition, Object};
use crate::interpreter::Interpreter;

/// So many arguments, with the object, need no memory of the heap's.
const AT_HAND: usize = 16;

/// What one method needs, for the life of the process: a tuple of Python's.
pub struct Kept(AtomicPtr<Object>);

impl Kept {
    /// Nothing yet.
    pub const fn new() -> Kept {
        Kept(AtomicPtr::new(ptr::null_mut()))
    }

    /// A new method of the class that is the last item of `told`; null, with an exception, where Python has no memory, and without one where it is too
    /// old. Where there is one already, that has what it needs of this tuple from now on.
    ///
    /// # Safety
    /// The thread holds the interpreter's lock; `told` is a tuple, of which the last item is a class.
    pub unsafe fn method(
        &self,
        python: &Interpreter,
        definition: &'static Definition,
        told: *mut Object,
    ) -> *mut Object {
        // SAFETY: as the caller promises.
        unsafe {
            let method = python.method_of_class(python.item(told, python.length(told) - 1), definition);
            if !method.is_null() {
                python.keep(told);
                self.0.store(told, Ordering::Release);
            }
            method
        }
    }

    /// What Python has called the method for: `run` gets the interpreter, the tuple, the object and its arguments, and how many of these are not
    /// named.
    ///
    /// # Safety
    /// Python has called the method of `object` with the others, and waits for it.
    pub unsafe fn called(
        &self,
        object: *mut Object,
        (arguments, count, names): (*const *mut Object, isize, *mut Object),
        run: impl FnOnce(&'static Interpreter, *mut Object, *const *mut Object, isize) -> *mut Object,
    ) -> *mut Object {
        let (Some(python), told) = (Interpreter::of_process(), self.0.load(Ordering::Acquire)) else {
            return ptr::null_mut();
        };
        // SAFETY: as the caller promises, `names` is a tuple or null, and the values of the names stand behind the other arguments, which are there
        // until the method returns.
        let given = unsafe {
            let named = if names.is_null() { 0 } else { python.length(names) };
            match count + named {
                0 => &[],
                all => slice::from_raw_parts(arguments, all.cast_unsigned()),
            }
        };
        if given.len() < AT_HAND {
            let mut all = [ptr::null_mut(); AT_HAND];
            all[0] = object;
            all[1..=given.len()].copy_from_slice(given);
            return run(python, told, all.as_ptr(), count + 1);
        }
        let all: Vec<*mut Object> = as_tracker(|| [&[object], given].concat());
        let result = run(python, told, all.as_ptr(), count + 1);
        as_tracker(|| drop(all));
        result
    }
}
