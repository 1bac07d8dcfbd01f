//! What the process has loaded, by name.
use std::ffi::{CStr, c_void};

/// Where a function or a variable of this name is; `None` where nothing that is loaded has one.
pub fn find(name: &CStr) -> Option<*mut c_void> {
    // SAFETY: the name is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// The function of this name.
///
/// # Safety
/// `F` is a function pointer of that function's type.
pub unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: as the caller promises; a function pointer is as large as a pointer.
    find(name).map(|found| unsafe { std::mem::transmute_copy(&found) })
}
