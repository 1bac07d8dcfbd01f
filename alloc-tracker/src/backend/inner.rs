//! The program's own allocator under [`Over`](crate::Over): whether there is one, its name, and whether its blocks are
//! counted.
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::sys;

/// The function that returns the allocator's name, a `fn() -> &'static str`; null when `Over` is not in use.
static NAME: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());
static COUNTED: AtomicBool = AtomicBool::new(false);

/// Notes that `Over` is in use, and returns whether it shall count its blocks. `name` returns the inner allocator's
/// name.
#[inline]
pub fn register(name: fn() -> &'static str) -> bool {
    if NAME.load(Ordering::Acquire).is_null() {
        register_first(name);
    }
    is_counted()
}

/// Decides whether `Over` counts its blocks. It does not when `alloc-interpose` is linked too: C's `malloc` is then the
/// tracker's, the inner allocator may call it, and blocks would be counted twice.
#[cold]
fn register_first(name: fn() -> &'static str) {
    // SAFETY: the name is a C string; RTLD_DEFAULT asks for the definition that calls from this process reach.
    let malloc = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"malloc".as_ptr()) };
    let own = sys::object_of(register_first as *const c_void);
    COUNTED.store(own == 0 || sys::object_of(malloc) != own, Ordering::Relaxed);
    NAME.store(name as *mut (), Ordering::Release);
}

/// Whether `Over` is in use and counts its blocks.
#[inline]
pub fn is_counted() -> bool {
    COUNTED.load(Ordering::Relaxed)
}

/// The name of the allocator under `Over`, if that is in use.
pub fn name() -> Option<&'static str> {
    let name = NAME.load(Ordering::Relaxed);
    // SAFETY: NAME is null or a function of this very type (`register_first`).
    (!name.is_null()).then(|| unsafe { std::mem::transmute::<*mut (), fn() -> &'static str>(name) }())
}
