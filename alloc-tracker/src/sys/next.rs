//! The allocator that would have answered without us: for blocks that it made before we came, or behind our back.
use std::ffi::{CStr, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

static FREE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
static REALLOC: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

fn next(name: &CStr, known: &AtomicPtr<c_void>) -> *mut c_void {
    let mut found = known.load(Ordering::Relaxed);
    if found.is_null() {
        // SAFETY: `name` is a C string; RTLD_NEXT asks for the definition after ours.
        found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        known.store(found, Ordering::Relaxed);
    }
    found
}

/// Where the object that holds `address` is loaded; 0 for none.
pub fn object_of(address: *const c_void) -> usize {
    // SAFETY: Dl_info is plain data for which zeroes are a value.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: dladdr accepts every address; `info` is valid for writing.
    if unsafe { libc::dladdr(address, &mut info) } == 0 { 0 } else { info.dli_fbase.addr() }
}

/// Frees a block of the next allocator. Without one the block is left alone.
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

/// Resizes a block of the next allocator. Null without one.
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
