//! Functions as Python is told of them, in the layout of its headers: <https://docs.python.org/3/c-api/structures.html>.
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

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

    /// The same with a signature: the name and its parameters, an empty line of `--`, and a line without anything.
    pub const fn with_signature(self, signature: &'static CStr) -> Definition {
        Definition { help: signature.as_ptr(), ..self }
    }
}
