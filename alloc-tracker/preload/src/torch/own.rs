//! libtorch's own functions, where this library has one of the same name that the loader finds first.
use std::ffi::{CStr, c_char, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::loaded;

/// What the loader knows of a library: the beginning of `struct link_map`, as `link.h` has it.
#[repr(C)]
struct LinkMap {
    base: usize,
    path: *const c_char,
    dynamic: *const c_void,
    next: *const LinkMap,
}

/// A function of libtorch's, looked up when it is first needed.
pub struct Own {
    name: &'static CStr,
    /// The file that has it, as a rule.
    file: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Own {
    /// The function of this name, not looked up yet.
    pub const fn new(name: &'static CStr, file: &'static CStr) -> Own {
        Own { name, file, found: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Where it is; null where no library has it.
    pub fn address(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if found.is_null() { self.look_up() } else { found }
    }

    /// The function, to be called; `None` where no library has it.
    ///
    /// # Safety
    /// `F` is the type of a function pointer, and libtorch's function of this name has it.
    pub unsafe fn function<F: Copy>(&self) -> Option<F> {
        const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
        let found = self.address();
        // SAFETY: the address of a function of this type, as the caller promises; it is as large as a pointer.
        (!found.is_null()).then(|| unsafe { mem::transmute_copy(&found) })
    }

    /// Whether it was looked up and found: libtorch has called ours then.
    pub fn was_called(&self) -> bool {
        !self.found.load(Ordering::Relaxed).is_null()
    }

    #[cold]
    fn look_up(&self) -> *mut c_void {
        let mut found = self.in_library(self.file);
        // A package may have given the file another name.
        // SAFETY: the program's own handle is the first entry of the loader's list.
        let mut entry = unsafe { libc::dlopen(ptr::null(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) }.cast_const().cast();
        while found.is_null() && !ptr::eq(entry, ptr::null::<LinkMap>()) {
            // SAFETY: an entry of that list, with the path of its file as a C string; the program itself has an empty one.
            let (path, next) = unsafe { (CStr::from_ptr((*entry).path), (*entry).next) };
            if !path.is_empty() {
                found = self.in_library(path);
            }
            entry = next;
        }
        self.found.store(found, Ordering::Relaxed);
        found
    }

    /// Where a library that is loaded has it, or one that this one needs. Ours is in neither.
    fn in_library(&self, file: &CStr) -> *mut c_void {
        // SAFETY: the names are C strings. With RTLD_NOLOAD nothing is loaded, so nothing of a library runs.
        let found = unsafe {
            let library = libc::dlopen(file.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
            if library.is_null() { ptr::null_mut() } else { libc::dlsym(library, self.name.as_ptr()) }
        };
        if is_ours(found) { ptr::null_mut() } else { found }
    }
}

/// Whether an address lies in the library that this function is of.
fn is_ours(address: *const c_void) -> bool {
    let here = is_ours as fn(*const c_void) -> bool as *const c_void;
    loaded::any(|library| library.holds(address) && library.holds(here))
}
