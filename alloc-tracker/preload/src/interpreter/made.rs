//! Objects that are made for Python: functions, methods and tuples of them.
use std::ptr;

use super::Interpreter;
use crate::definition::{Definition, Object};

impl Interpreter {
    /// A tuple of new functions, which get `own` as their first argument and keep it; null, with an exception, where Python has no
    /// memory.
    ///
    /// # Safety
    /// `own` is an object.
    pub unsafe fn functions<const N: usize>(
        &self,
        definitions: &'static [Definition; N],
        own: *mut Object,
    ) -> *mut Object {
        // SAFETY: as the caller promises.
        unsafe { self.tuple(definitions.each_ref().map(|one| (self.new_function)(one, own, ptr::null_mut()))) }
    }

    /// A tuple of new objects, which it takes over; null where one of them is.
    ///
    /// # Safety
    /// Each is an object that the caller owns, or null.
    pub unsafe fn tuple<const N: usize>(&self, objects: [*mut Object; N]) -> *mut Object {
        if objects.iter().any(|object| object.is_null()) {
            return ptr::null_mut();
        }
        // SAFETY: as the caller promises. The tuple has a place for each.
        unsafe {
            let tuple = (self.new_tuple)(N as isize);
            if !tuple.is_null() {
                for (place, object) in (0..).zip(objects) {
                    (self.set_item)(tuple, place, object);
                }
            }
            tuple
        }
    }

    /// A new function that an attribute of a class can be: Python gives it the object as its first argument, behind `own`, which it
    /// keeps. Null, with an exception, where Python has no memory; without one, where it is too old.
    ///
    /// # Safety
    /// `own` is an object.
    pub unsafe fn method(&self, definition: &'static Definition, own: *mut Object) -> *mut Object {
        let Some(calling) = &self.calling else { return ptr::null_mut() };
        // SAFETY: as the caller promises. The method has its own reference to the function.
        unsafe {
            let function = (self.new_function)(definition, own, ptr::null_mut());
            if function.is_null() {
                return function;
            }
            let method = (calling.new_method)(function);
            (self.release)(function);
            method
        }
    }

    /// A new method of a class: `definition` gets the object, and its arguments apart from that. Null, with an exception, where Python has no
    /// memory; without one, where it is too old.
    ///
    /// # Safety
    /// `class` is a class.
    pub unsafe fn method_of_class(&self, class: *mut Object, definition: &'static Definition) -> *mut Object {
        // SAFETY: as the caller promises.
        self.calling
            .as_ref()
            .map_or(ptr::null_mut(), |calling| unsafe { (calling.new_method_of_class)(class, definition) })
    }
}
