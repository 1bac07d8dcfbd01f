//! The functions of the Python that runs in this process, as the loader finds them. All belong to Python's stable ABI, or did what
//! they do there long before: <https://docs.python.org/3/c-api/stable.html>. This library is linked with none of them, because most
//! programs that it is loaded into have no Python.
mod aside;
mod made;

use std::ffi::{c_char, c_int, c_long, c_ulonglong, c_void};
use std::ptr;
use std::slice;
use std::sync::OnceLock;

use crate::definition::{Definition, Object};
use crate::loaded::function;
use crate::vectorcall::{self, Vectorcall};

/// The functions, each by the last part of its name. They may be called by a thread that holds the interpreter's lock.
pub struct Interpreter {
    new_function: unsafe extern "C" fn(*const Definition, *mut Object, *mut Object) -> *mut Object,
    new_tuple: unsafe extern "C" fn(isize) -> *mut Object,
    set_item: unsafe extern "C" fn(*mut Object, isize, *mut Object) -> c_int,
    item: unsafe extern "C" fn(*mut Object, isize) -> *mut Object,
    length: unsafe extern "C" fn(*mut Object) -> isize,
    value: unsafe extern "C" fn(*mut Object, *mut Object) -> *mut Object,
    from_address: unsafe extern "C" fn(*mut c_void) -> *mut Object,
    number: unsafe extern "C" fn(*mut Object) -> c_ulonglong,
    truth: unsafe extern "C" fn(c_long) -> *mut Object,
    error: unsafe extern "C" fn() -> *mut Object,
    clear: unsafe extern "C" fn(),
    keep: unsafe extern "C" fn(*mut Object),
    release: unsafe extern "C" fn(*mut Object),
    format: unsafe extern "C" fn(*const c_char, ...) -> *mut Object,
    text: unsafe extern "C" fn(*mut Object, *mut isize) -> *const c_char,
    calling: Option<Calling>,
}

/// What calls of Python's functions need besides. Python has it from 3.9 on.
struct Calling {
    call: Vectorcall,
    new_method: unsafe extern "C" fn(*mut Object) -> *mut Object,
    new_method_of_class: unsafe extern "C" fn(*mut Object, *const Definition) -> *mut Object,
    attribute: unsafe extern "C" fn(*mut Object, *mut Object) -> *mut Object,
    call_method: Vectorcall,
    put_aside: unsafe extern "C" fn(*mut *mut Object, *mut *mut Object, *mut *mut Object),
    put_back: unsafe extern "C" fn(*mut Object, *mut Object, *mut Object),
    handle_signals: unsafe extern "C" fn() -> c_int,
}

impl Calling {
    fn find() -> Option<Calling> {
        // SAFETY: each is Python's function of this name, which has had this type in all versions that have it.
        unsafe {
            Some(Calling {
                call: vectorcall::find()?,
                new_method: function(c"PyInstanceMethod_New")?,
                new_method_of_class: function(c"PyDescr_NewMethod")?,
                attribute: function(c"PyObject_GetAttr")?,
                call_method: function(c"PyObject_VectorcallMethod")?,
                put_aside: function(c"PyErr_Fetch")?,
                put_back: function(c"PyErr_Restore")?,
                handle_signals: function(c"PyErr_CheckSignals")?,
            })
        }
    }
}

impl Interpreter {
    /// The one of this process; `None` where a function is not found, as in another program.
    pub fn of_process() -> Option<&'static Interpreter> {
        static FOUND: OnceLock<Option<Interpreter>> = OnceLock::new();
        FOUND.get_or_init(Interpreter::find).as_ref()
    }

    fn find() -> Option<Interpreter> {
        // SAFETY: each is Python's function of this name, which has had this type in all versions since 3.7.
        unsafe {
            Some(Interpreter {
                new_function: function(c"PyCFunction_NewEx")?,
                new_tuple: function(c"PyTuple_New")?,
                set_item: function(c"PyTuple_SetItem")?,
                item: function(c"PyTuple_GetItem")?,
                length: function(c"PyTuple_Size")?,
                value: function(c"PyDict_GetItemWithError")?,
                from_address: function(c"PyLong_FromVoidPtr")?,
                number: function(c"PyLong_AsUnsignedLongLong")?,
                truth: function(c"PyBool_FromLong")?,
                error: function(c"PyErr_Occurred")?,
                clear: function(c"PyErr_Clear")?,
                keep: function(c"Py_IncRef")?,
                release: function(c"Py_DecRef")?,
                format: function(c"Py_BuildValue")?,
                text: function(c"PyUnicode_AsUTF8AndSize")?,
                calling: Calling::find(),
            })
        }
    }

    /// What a dictionary has for the number that `id` gives of an object; null where it has nothing, and on an exception. The
    /// dictionary goes on to own it.
    ///
    /// # Safety
    /// `dictionary` is one.
    pub unsafe fn by_identity(&self, dictionary: *mut Object, object: *mut Object) -> *mut Object {
        // SAFETY: as the caller promises; the key is an object until it is released.
        unsafe {
            let key = self.of_address(object.addr());
            if key.is_null() {
                return key;
            }
            let value = (self.value)(dictionary, key);
            (self.release)(key);
            value
        }
    }

    /// Whether a dictionary has something for this key. Leaves no exception.
    ///
    /// # Safety
    /// `dictionary` is one, and `key` an object.
    pub unsafe fn has(&self, dictionary: *mut Object, key: *mut Object) -> bool {
        // SAFETY: as the caller promises.
        unsafe {
            let found = (self.value)(dictionary, key);
            self.forget();
            !found.is_null()
        }
    }

    /// What a text says; `None`, with an exception, where it is no text, or none that UTF-8 can hold.
    ///
    /// # Safety
    /// `text` is an object, and stays one for `'a`.
    pub unsafe fn text<'a>(&self, text: *mut Object) -> Option<&'a str> {
        let mut length = 0;
        // SAFETY: as the caller promises. Python writes the length, and keeps the bytes with the text.
        unsafe {
            let bytes = (self.text)(text, &raw mut length);
            (!bytes.is_null()).then(|| slice::from_raw_parts(bytes.cast(), length.cast_unsigned()))
        }
        .and_then(|bytes| str::from_utf8(bytes).ok())
    }

    /// An item of a tuple, which goes on to own it; null, with an exception, where it has none.
    ///
    /// # Safety
    /// `tuple` is an object.
    pub unsafe fn item(&self, tuple: *mut Object, place: isize) -> *mut Object {
        // SAFETY: as the caller promises.
        unsafe { (self.item)(tuple, place) }
    }

    /// The number that an object is; `None`, with an exception, where it is no number of 64 bits.
    ///
    /// # Safety
    /// `object` is an object.
    pub unsafe fn number(&self, object: *mut Object) -> Option<u64> {
        // SAFETY: as the caller promises.
        let number = unsafe { (self.number)(object) };
        (number != u64::MAX || !self.has_failed()).then_some(number)
    }

    /// A new `int`; null, with an exception, where Python has no memory.
    ///
    /// # Safety
    /// No more than for all.
    pub unsafe fn of_address(&self, address: usize) -> *mut Object {
        // SAFETY: as the caller promises; nothing is read there.
        unsafe { (self.from_address)(ptr::without_provenance_mut(address)) }
    }

    /// `True` or `False`.
    ///
    /// # Safety
    /// No more than for all.
    pub unsafe fn truth(&self, is: bool) -> *mut Object {
        // SAFETY: as the caller promises.
        unsafe { (self.truth)(c_long::from(is)) }
    }

    /// Forgets the exception that is on its way to Python, if there is one.
    ///
    /// # Safety
    /// No more than for all.
    pub unsafe fn forget(&self) {
        // SAFETY: as the caller promises.
        unsafe { (self.clear)() }
    }

    /// How many items a tuple has.
    ///
    /// # Safety
    /// `tuple` is one.
    pub unsafe fn length(&self, tuple: *mut Object) -> isize {
        // SAFETY: as the caller promises.
        unsafe { (self.length)(tuple) }
    }

    /// Keeps an object alive, once more than it is so far.
    ///
    /// # Safety
    /// `object` is one.
    pub unsafe fn keep(&self, object: *mut Object) {
        // SAFETY: as the caller promises.
        unsafe { (self.keep)(object) }
    }

    /// Calls a function as [`FunctionWithNames`](crate::definition::FunctionWithNames) is called; null with an exception.
    ///
    /// # Safety
    /// `function` is an object, and the others are as such a function gets them.
    pub unsafe fn call(
        &self,
        function: *mut Object,
        arguments: *const *mut Object,
        count: usize,
        names: *mut Object,
    ) -> *mut Object {
        // SAFETY: as the caller promises.
        self.calling
            .as_ref()
            .map_or(ptr::null_mut(), |calling| unsafe { (calling.call)(function, arguments, count, names) })
    }

    /// What `use_value` makes of an attribute, which is an object until that returns; `None`, without an exception, where the object
    /// has none of this name, and where `use_value` says so.
    ///
    /// # Safety
    /// `object` is an object and `name` a text.
    pub unsafe fn attribute<T>(
        &self,
        object: *mut Object,
        name: *mut Object,
        use_value: impl FnOnce(*mut Object) -> Option<T>,
    ) -> Option<T> {
        let calling = self.calling.as_ref()?;
        // SAFETY: as the caller promises.
        unsafe { self.with_result((calling.attribute)(object, name), use_value) }
    }

    /// The number that a method without arguments returns; `None`, without an exception, where it returns none or there is no such method.
    ///
    /// # Safety
    /// As for [`attribute`](Self::attribute).
    pub unsafe fn number_of(&self, object: *mut Object, method: *mut Object) -> Option<u64> {
        let calling = self.calling.as_ref()?;
        // SAFETY: as the caller promises; there is one argument, the object itself.
        unsafe {
            let result = (calling.call_method)(method, &raw const object, 1, ptr::null_mut());
            self.with_result(result, |number| self.number(number))
        }
    }

    /// Uses a result of Python's and releases it; forgets the exception that came in its place, or while it was used.
    ///
    /// # Safety
    /// `result` is an object that the caller owns, or null.
    pub unsafe fn with_result<T>(
        &self,
        result: *mut Object,
        use_value: impl FnOnce(*mut Object) -> Option<T>,
    ) -> Option<T> {
        let used = if result.is_null() { None } else { use_value(result) };
        // SAFETY: as the caller promises.
        unsafe {
            if used.is_none() {
                self.forget();
            }
            if !result.is_null() {
                (self.release)(result);
            }
        }
        used
    }

    /// A new reference to `None`.
    ///
    /// # Safety
    /// No more than for all.
    pub unsafe fn none(&self) -> *mut Object {
        // SAFETY: as the caller promises. Of an empty format Python makes `None`.
        unsafe { (self.format)(c"".as_ptr()) }
    }

    /// Calls a function, whose result nobody wants. Returns whether it has one, and no exception.
    ///
    /// # Safety
    /// As for [`call`](Self::call).
    pub unsafe fn run(&self, function: *mut Object, arguments: *const *mut Object, count: usize) -> bool {
        // SAFETY: as the caller promises; the result is released once.
        unsafe {
            let result = self.call(function, arguments, count, ptr::null_mut());
            if !result.is_null() {
                (self.release)(result);
            }
            !result.is_null()
        }
    }

    /// Whether this Python is recent enough for [`call`](Self::call) and what goes with it.
    pub fn calls(&self) -> bool {
        self.calling.is_some()
    }

    /// Whether an exception is on its way to Python.
    pub fn has_failed(&self) -> bool {
        // SAFETY: the function only looks at the thread that holds the interpreter's lock, which is this one.
        unsafe { !(self.error)().is_null() }
    }
}
