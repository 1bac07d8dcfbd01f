//! The package's functions before and after one of the program's. They raise nothing of their own. But where a signal has arrived
//! while C ran, Python calls the program's handler in the next function in Python, and that may be one of the package's.
use std::ptr;

use super::Interpreter;
use crate::definition::Object;

impl Interpreter {
    /// Calls a function of the package's, whose result nobody wants. An exception that is on its way goes on afterwards; one that a signal's
    /// handler raises meanwhile takes its place. Returns whether none has.
    ///
    /// # Safety
    /// As for [`call`](Self::call).
    pub unsafe fn tell(&self, function: *mut Object, arguments: *const *mut Object, count: usize) -> bool {
        let Some(calling) = &self.calling else { return true };
        let [mut kind, mut value, mut trace] = [ptr::null_mut(); 3];
        // SAFETY: as the caller promises; the exception is put back as it was taken, or released.
        unsafe {
            (calling.put_aside)(&raw mut kind, &raw mut value, &raw mut trace);
            let is_well = self.run(function, arguments, count);
            if is_well {
                (calling.put_back)(kind, value, trace);
            } else {
                [kind, value, trace].into_iter().filter(|part| !part.is_null()).for_each(|part| (self.release)(part));
            }
            is_well
        }
    }

    /// Has Python call the handlers of the signals that have arrived, before one of the package's functions does. Returns whether none has raised an
    /// exception, which is on its way then.
    ///
    /// # Safety
    /// No exception is on its way.
    pub unsafe fn handle_signals(&self) -> bool {
        // SAFETY: as the caller promises.
        self.calling.as_ref().is_none_or(|calling| unsafe { (calling.handle_signals)() == 0 })
    }

    /// What a function of the program's has returned, or null with its exception, once `tell` has told of that: null, with the exception, where a
    /// signal's handler has raised one meanwhile.
    ///
    /// # Safety
    /// `result` is an object that the caller owns, or null with an exception.
    pub unsafe fn ended(&self, result: *mut Object, tell: impl FnOnce(*mut Object) -> bool) -> *mut Object {
        // SAFETY: as the caller promises; a result that is not returned is released once.
        unsafe {
            let result = if result.is_null() || self.handle_signals() { result } else { self.without(result) };
            if tell(result) || result.is_null() { result } else { self.without(result) }
        }
    }

    unsafe fn without(&self, result: *mut Object) -> *mut Object {
        // SAFETY: `ended` owns it.
        unsafe { (self.release)(result) };
        ptr::null_mut()
    }
}
