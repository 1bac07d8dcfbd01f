//! The lock of glibc's list of open streams, taken around a fork.
//!
//! glibc's fork takes this lock after all fork handlers have run; jemalloc's handler takes the allocator's locks. A
//! thread in `fflush(NULL)` holds the list's lock and waits for a stream. The stream's owner, in `getline` for example,
//! waits for the allocator. If a third thread forks in between, all three wait for ever. So the lock is taken here
//! before the allocator's locks. The lock is recursive, so glibc's fork can take it a second time. (glibc itself keeps
//! the order: its fork takes this lock before the locks of its own malloc.)
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

static LOCK: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static UNLOCK: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static RESET: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static SINGLE_THREADED: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static HELD: AtomicBool = AtomicBool::new(false);

/// Looks up the lock's functions, which may allocate: to be called once, before `main`. Another C library has none of
/// them, and then the other functions here do nothing.
pub fn find_lock() {
    // SAFETY: the name is a C string; RTLD_DEFAULT asks for the definition that the program sees.
    let find = |name: &CStr| unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    let all = [
        (&LOCK, c"_IO_list_lock"),
        (&UNLOCK, c"_IO_list_unlock"),
        (&RESET, c"_IO_list_resetlock"),
        (&SINGLE_THREADED, c"__libc_single_threaded"),
    ];
    let found = all.map(|(_, name)| find(name));
    if found.iter().all(|symbol| !symbol.is_null()) {
        all.iter().zip(found).for_each(|((place, _), symbol)| place.store(symbol, Ordering::Release));
    }
}

fn call(function: &AtomicPtr<c_void>) {
    let found = function.load(Ordering::Acquire);
    if !found.is_null() {
        // SAFETY: the three functions of these names take and give nothing in every glibc that has them.
        let function: extern "C" fn() = unsafe { std::mem::transmute(found) };
        function();
    }
}

/// Takes the lock, before a fork. In a process with a single thread the lock is left alone, as glibc leaves it: the
/// only possible holder is this very thread, interrupted by a signal handler that forks.
pub fn hold() {
    let single = SINGLE_THREADED.load(Ordering::Acquire).cast::<c_char>();
    // SAFETY: the pointer is null or the address of glibc's `__libc_single_threaded` (`find_lock`), one byte that lives
    // as long as the process and that any thread may read.
    let alone = single.is_null() || unsafe { single.read_volatile() } != 0;
    if !alone {
        call(&LOCK);
        HELD.store(true, Ordering::Relaxed);
    }
}

/// Gives the lock back, in the parent.
pub fn release() {
    if HELD.swap(false, Ordering::Relaxed) {
        call(&UNLOCK);
    }
}

/// Resets the lock, in the child. Its only thread does not hold it, and glibc has freed it already.
pub fn reset() {
    if HELD.swap(false, Ordering::Relaxed) {
        call(&RESET);
    }
}
