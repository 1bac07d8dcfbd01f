//! The next allocator: the one whose `malloc` the program would call without the tracker, mostly glibc's. Blocks that
//! came from there are passed on to its `free`, `realloc` and `malloc_usable_size`.
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

static FREE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static REALLOC: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static USABLE_SIZE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

fn next(name: &CStr, known: &AtomicPtr<c_void>) -> *mut c_void {
    let mut found = known.load(Ordering::Relaxed);
    if found.is_null() {
        // SAFETY: `name` is a C string; RTLD_NEXT asks for the definition that comes after this object's own.
        found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        known.store(found, Ordering::Relaxed);
    }
    found
}

/// The load address of the executable or library that contains `address`; 0 when there is none.
pub fn object_of(address: *const c_void) -> usize {
    // SAFETY: Dl_info is plain data for which zeroes are a value.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr accepts every address; `info` is valid for writing.
    if unsafe { libc::dladdr(address, &mut info) } == 0 { 0 } else { info.dli_fbase.addr() }
}

/// Frees a block of the next allocator. If there is no next allocator, this does nothing.
///
/// # Safety
/// `block` must be a live block of the next allocator.
pub unsafe fn next_free(block: *mut u8) {
    let found = next(c"free", &FREE);
    if !found.is_null() {
        // SAFETY: the symbol named free has this type in every C library.
        let free: unsafe extern "C" fn(*mut c_void) = unsafe { std::mem::transmute(found) };
        // SAFETY: as the caller promises.
        unsafe { free(block.cast()) };
    }
}

/// Resizes a block of the next allocator. Null when it has no memory, or when there is no next allocator.
///
/// # Safety
/// `block` must be a live block of the next allocator.
pub unsafe fn next_realloc(block: *mut u8, size: usize) -> *mut u8 {
    let found = next(c"realloc", &REALLOC);
    if found.is_null() {
        return ptr::null_mut();
    }
    // SAFETY: the symbol named realloc has this type in every C library.
    let realloc: unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void = unsafe { std::mem::transmute(found) };
    // SAFETY: as the caller promises.
    unsafe { realloc(block.cast(), size) }.cast()
}

/// The usable size of a block of the next allocator, in bytes; 0 when that does not tell it.
///
/// # Safety
/// `block` must be a live block of the next allocator.
pub unsafe fn next_usable_size(block: *mut u8) -> usize {
    let found = next(c"malloc_usable_size", &USABLE_SIZE);
    if found.is_null() {
        return 0;
    }
    // SAFETY: the symbol of that name has this type in every C library that has it.
    let usable_size: unsafe extern "C" fn(*mut c_void) -> usize = unsafe { std::mem::transmute(found) };
    // SAFETY: as the caller promises.
    unsafe { usable_size(block.cast()) }
}
