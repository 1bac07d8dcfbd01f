//! The C library's list of open streams, and its lock around a fork.
//!
//! glibc's fork takes this lock after all fork handlers have run; jemalloc's handler takes the allocator's locks. A
//! thread in `fflush(NULL)` holds the list and waits for a stream, whose owner, in `getline` say, waits for the
//! allocator: with a fork in between, all three wait for ever. Taken before the allocator's locks, the list is free when
//! glibc comes for it, since the lock counts how often its owner took it. (glibc's own malloc is locked after the list.)
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

static LOCK: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static UNLOCK: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static RESET: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static SINGLE_THREADED: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static HELD: AtomicBool = AtomicBool::new(false);

/// Looks the lock up, which may allocate: once, before `main`. Another C library has none, and then the rest does nothing.
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

/// Before a fork. In a process of one thread nobody can hold the lock but this very thread, in the middle of taking it
/// when a signal handler forks: then without, as glibc does.
pub fn hold() {
    let single = SINGLE_THREADED.load(Ordering::Acquire).cast::<c_char>();
    // SAFETY: a non-null pointer is to glibc's variable of one byte, which this process's only or any thread may read.
    let alone = single.is_null() || unsafe { single.read_volatile() } != 0;
    if !alone {
        call(&LOCK);
        HELD.store(true, Ordering::Relaxed);
    }
}

/// After it, in the parent.
pub fn let_go() {
    if HELD.swap(false, Ordering::Relaxed) {
        call(&UNLOCK);
    }
}

/// After it, in the child: glibc has set the lock to free already, and to have it free is all that its one thread wants.
pub fn forget() {
    if HELD.swap(false, Ordering::Relaxed) {
        call(&RESET);
    }
}
