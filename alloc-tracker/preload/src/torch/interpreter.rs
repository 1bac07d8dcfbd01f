//! The functions of the Python that runs in this process, as the loader finds them. All belong to Python's stable ABI, or did what
//! they do there long before: <https://docs.python.org/3/c-api/stable.html>. This library is linked with none of them, because most
//! programs that it is loaded into have no Python.
use std::ffi::{CStr, c_char, c_int, c_long, c_ulonglong, c_void};
use std::ptr;
use std::sync::OnceLock;

use crate::loaded::function;

/// `PyObject`. What it holds is Python's.
#[repr(C)]
pub struct Object([u8; 0]);

/// A function that Python calls with its arguments in an array (`METH_FASTCALL`, from 3.7 on).
pub type Function = unsafe extern "C" fn(own: *mut Object, arguments: *const *mut Object, count: isize) -> *mut Object;

/// One that takes arguments by name as well (`METH_FASTCALL | METH_KEYWORDS`): their values stand behind the `count` others, and `names`
/// is a tuple of their names or null.
pub type FunctionWithNames = unsafe extern "C" fn(
    own: *mut Object,
    arguments: *const *mut Object,
    count: isize,
    names: *mut Object,
) -> *mut Object;

/// `PyMethodDef`: a function as Python is told of it. It has to stay for the life of the process.
#[repr(C)]
pub struct Definition {
    name: *const c_char,
    /// A [`Function`] or a [`FunctionWithNames`], as the flags say.
    function: *const c_void,
    flags: c_int,
    help: *const c_char,
}

// SAFETY: the pointers are of constants, and nothing of a definition changes.
unsafe impl Sync for Definition {}

impl Definition {
    /// `METH_FASTCALL`.
    const ARRAY: c_int = 0x80;
    /// `METH_KEYWORDS`.
    const NAMES: c_int = 0x02;

    /// A function of this name.
    pub const fn new(name: &'static CStr, function: Function) -> Definition {
        Definition {
            name: name.as_ptr(),
            function: function as *const c_void,
            flags: Definition::ARRAY,
            help: ptr::null(),
        }
    }

    /// A function of this name that takes arguments by name as well.
    pub const fn with_names(name: &'static CStr, function: FunctionWithNames) -> Definition {
        let flags = Definition::ARRAY | Definition::NAMES;
        Definition { name: name.as_ptr(), function: function as *const c_void, flags, help: ptr::null() }
    }
}

/// The functions, each by the last part of its name. They may be called by a thread that holds the interpreter's lock.
pub struct Interpreter {
    new_function: unsafe extern "C" fn(*const Definition, *mut Object, *mut Object) -> *mut Object,
    new_tuple: unsafe extern "C" fn(isize) -> *mut Object,
    set_item: unsafe extern "C" fn(*mut Object, isize, *mut Object) -> c_int,
    item: unsafe extern "C" fn(*mut Object, isize) -> *mut Object,
    value: unsafe extern "C" fn(*mut Object, *mut Object) -> *mut Object,
    from_address: unsafe extern "C" fn(*mut c_void) -> *mut Object,
    number: unsafe extern "C" fn(*mut Object) -> c_ulonglong,
    truth: unsafe extern "C" fn(c_long) -> *mut Object,
    error: unsafe extern "C" fn() -> *mut Object,
    clear: unsafe extern "C" fn(),
    release: unsafe extern "C" fn(*mut Object),
    calling: Option<Calling>,
}

/// What calls of Python's functions need besides. Python has it from 3.9 on.
struct Calling {
    call: unsafe extern "C" fn(*mut Object, *const *mut Object, usize, *mut Object) -> *mut Object,
    new_method: unsafe extern "C" fn(*mut Object) -> *mut Object,
    is_true: unsafe extern "C" fn(*mut Object) -> c_int,
    put_aside: unsafe extern "C" fn(*mut *mut Object, *mut *mut Object, *mut *mut Object),
    put_back: unsafe extern "C" fn(*mut Object, *mut Object, *mut Object),
}

impl Calling {
    fn find() -> Option<Calling> {
        // SAFETY: each is Python's function of this name, which has had this type in all versions since 3.9.
        unsafe {
            Some(Calling {
                call: function(c"PyObject_Vectorcall")?,
                new_method: function(c"PyInstanceMethod_New")?,
                is_true: function(c"PyObject_IsTrue")?,
                put_aside: function(c"PyErr_Fetch")?,
                put_back: function(c"PyErr_Restore")?,
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
                value: function(c"PyDict_GetItemWithError")?,
                from_address: function(c"PyLong_FromVoidPtr")?,
                number: function(c"PyLong_AsUnsignedLongLong")?,
                truth: function(c"PyBool_FromLong")?,
                error: function(c"PyErr_Occurred")?,
                clear: function(c"PyErr_Clear")?,
                release: function(c"Py_DecRef")?,
                calling: Calling::find(),
            })
        }
    }

    /// A tuple of new functions, which get `own` as their first argument and keep it; null, with an exception, where Python has no
    /// memory.
    ///
    /// # Safety
    /// The thread holds the interpreter's lock, and `own` is an object. As for all of the following.
    pub unsafe fn functions(&self, definitions: &'static [Definition], own: *mut Object) -> *mut Object {
        // SAFETY: as the caller promises. The tuple has a place for each, and takes over what it is given.
        unsafe {
            let functions = (self.new_tuple)(definitions.len() as isize);
            for (place, definition) in (0..).zip(definitions) {
                let function =
                    if functions.is_null() { functions } else { (self.new_function)(definition, own, ptr::null_mut()) };
                if function.is_null() {
                    return function;
                }
                (self.set_item)(functions, place, function);
            }
            functions
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

    /// Calls a function as [`FunctionWithNames`] is called; null with an exception.
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

    /// Whether a function without arguments returns something true; not where it raises.
    ///
    /// # Safety
    /// `function` is an object, and no exception is on its way.
    pub unsafe fn answers(&self, function: *mut Object) -> bool {
        let Some(calling) = &self.calling else { return false };
        // SAFETY: as the caller promises.
        unsafe {
            let answer = (calling.call)(function, ptr::null(), 0, ptr::null_mut());
            if answer.is_null() {
                self.forget();
                return false;
            }
            let is_true = (calling.is_true)(answer) == 1;
            (self.release)(answer);
            is_true
        }
    }

    /// Calls a function, whose result and exception nobody wants. An exception that is on its way meanwhile goes on afterwards.
    ///
    /// # Safety
    /// As for [`call`](Self::call).
    pub unsafe fn tell(&self, function: *mut Object, arguments: *const *mut Object, count: usize) {
        let Some(calling) = &self.calling else { return };
        let [mut kind, mut value, mut trace] = [ptr::null_mut(); 3];
        // SAFETY: as the caller promises; the exception is put back as it was taken.
        unsafe {
            (calling.put_aside)(&raw mut kind, &raw mut value, &raw mut trace);
            let result = (calling.call)(function, arguments, count, ptr::null_mut());
            if result.is_null() {
                self.forget()
            } else {
                (self.release)(result)
            }
            (calling.put_back)(kind, value, trace);
        }
    }

    /// Whether an exception is on its way to Python.
    pub fn has_failed(&self) -> bool {
        // SAFETY: the function only looks at the thread that holds the interpreter's lock, which is this one.
        unsafe { !(self.error)().is_null() }
    }
}
