//! How functions of Python's are called with arguments in an array: by `PyObject_Vectorcall`, or up to Python 3.10, where that is in the
//! headers alone, by what it calls itself: <https://docs.python.org/3/c-api/call.html>.
use std::ffi::c_int;
use std::ptr;
use std::sync::OnceLock;

use crate::definition::Object;
use crate::loaded::function;

/// Calls a function as [`FunctionWithNames`](crate::definition::FunctionWithNames) is called. Returns a new object; null with an exception.
pub type Vectorcall = unsafe extern "C" fn(*mut Object, *const *mut Object, usize, *mut Object) -> *mut Object;

/// The function of this process's Python; `None` before 3.9.
pub fn find() -> Option<Vectorcall> {
    // SAFETY: it is Python's function of this name, which has had this type in all versions that have it.
    let exported = unsafe { function(c"PyObject_Vectorcall") };
    exported.or_else(|| BY_DICTIONARY.get_or_init(ByDictionary::find).is_some().then_some(by_dictionary as Vectorcall))
}

static BY_DICTIONARY: OnceLock<Option<ByDictionary>> = OnceLock::new();

/// What Python 3.9 and 3.10 have, each by the last part of its name.
struct ByDictionary {
    call: unsafe extern "C" fn(*mut Object, *const *mut Object, usize, *mut Object) -> *mut Object,
    new_dictionary: unsafe extern "C" fn() -> *mut Object,
    set_item: unsafe extern "C" fn(*mut Object, *mut Object, *mut Object) -> c_int,
    length: unsafe extern "C" fn(*mut Object) -> isize,
    item: unsafe extern "C" fn(*mut Object, isize) -> *mut Object,
    release: unsafe extern "C" fn(*mut Object),
}

impl ByDictionary {
    fn find() -> Option<ByDictionary> {
        // SAFETY: each is Python's function of this name, which has this type in both versions.
        unsafe {
            Some(ByDictionary {
                call: function(c"PyObject_VectorcallDict")?,
                new_dictionary: function(c"PyDict_New")?,
                set_item: function(c"PyDict_SetItem")?,
                length: function(c"PyTuple_Size")?,
                item: function(c"PyTuple_GetItem")?,
                release: function(c"Py_DecRef")?,
            })
        }
    }
}

/// # Safety
/// As for [`Vectorcall`]: the thread holds the interpreter's lock, `function` is an object, and the others are as such a function gets them.
unsafe extern "C" fn by_dictionary(
    function: *mut Object,
    arguments: *const *mut Object,
    count: usize,
    names: *mut Object,
) -> *mut Object {
    let Some(Some(python)) = BY_DICTIONARY.get() else { return ptr::null_mut() };
    // SAFETY: as the caller promises. The arguments by name stand behind the others, and the dictionary has references of its own.
    unsafe {
        if names.is_null() {
            return (python.call)(function, arguments, count, names);
        }
        let named = (python.new_dictionary)();
        if named.is_null() {
            return named;
        }
        let behind = arguments.add(count);
        let is_filled = (0..(python.length)(names))
            .all(|place| (python.set_item)(named, (python.item)(names, place), behind.offset(place).read()) == 0);
        let result = if is_filled { (python.call)(function, arguments, count, named) } else { ptr::null_mut() };
        (python.release)(named);
        result
    }
}
