//! The C library's own exec functions, which come after this library's. They are looked up before `main`, because a child that
//! shares its parent's memory (vfork) may call them and nothing else.
use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The function of this name that comes after ours.
pub struct Next(&'static CStr, AtomicPtr<libc::c_void>);

impl Next {
    const fn new(name: &'static CStr) -> Next {
        Next(name, AtomicPtr::new(std::ptr::null_mut()))
    }

    /// Its address; `None` where the C library has no such function.
    pub fn address(&self) -> Option<*mut libc::c_void> {
        let mut found = self.1.load(Ordering::Acquire);
        if found.is_null() {
            // SAFETY: the name is a C string; RTLD_NEXT asks for the definition after this library's.
            found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.0.as_ptr()) };
            self.1.store(found, Ordering::Release);
        }
        (!found.is_null()).then_some(found)
    }
}

/// `execve`.
pub static EXECVE: Next = Next::new(c"execve");
/// `execv`.
pub static EXECV: Next = Next::new(c"execv");
/// `execvp`.
pub static EXECVP: Next = Next::new(c"execvp");
/// `execvpe`.
pub static EXECVPE: Next = Next::new(c"execvpe");
/// `fexecve`.
pub static FEXECVE: Next = Next::new(c"fexecve");

/// Looks all of them up.
pub fn look_up() {
    for next in [&EXECVE, &EXECV, &EXECVP, &EXECVPE, &FEXECVE] {
        let _ = next.address();
    }
}
