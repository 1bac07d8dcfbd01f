//! The C library's own allocator, by the names under which no other can be meant: glibc has its functions a second time
//! as `__libc_malloc` and so on. Only the usable size has no such name; it is looked up once, in the object that those
//! functions are in.
#[cfg(target_env = "gnu")]
pub use glibc::*;
#[cfg(not(target_env = "gnu"))]
pub use nothing::*;

#[cfg(target_env = "gnu")]
mod glibc {
    use std::ffi::c_void;
    use std::ptr;
    use std::sync::atomic::{AtomicPtr, Ordering};

    use crate::sys::object_of;

    unsafe extern "C" {
        fn __libc_malloc(size: usize) -> *mut c_void;
        fn __libc_calloc(count: usize, size: usize) -> *mut c_void;
        fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
        fn __libc_memalign(alignment: usize, size: usize) -> *mut c_void;
        fn __libc_free(block: *mut c_void);
    }

    /// glibc aligns every block to this, on 64-bit machines.
    const NATURAL: usize = 16;

    /// `malloc_usable_size`.
    static USABLE: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

    /// Looks up what has no name of its own. May allocate. `false` when it is not there: this backend cannot be had then.
    pub fn prepare() -> bool {
        let name = c"malloc_usable_size".as_ptr();
        // SAFETY: `name` is a C string; RTLD_NEXT asks for the definition after ours, which is mostly glibc's.
        let mut found = unsafe { libc::dlsym(libc::RTLD_NEXT, name) };
        if object_of(found) != object_of(__libc_malloc as *const c_void) {
            // Another allocator's, preloaded say.
            // SAFETY: both names are C strings. The library is loaded already and stays so: the handle is never closed.
            found = unsafe {
                let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
                if library.is_null() { ptr::null_mut() } else { libc::dlsym(library, name) }
            };
        }
        USABLE.store(found, Ordering::Relaxed);
        !found.is_null() && object_of(found) == object_of(__libc_malloc as *const c_void)
    }

    /// Any size; null and ENOMEM when there is no memory.
    pub fn malloc(size: usize) -> *mut u8 {
        // SAFETY: malloc accepts every size.
        unsafe { __libc_malloc(size) }.cast()
    }

    /// Any size, zeroed; null and ENOMEM when there is no memory or the product overflows.
    pub fn calloc(count: usize, size: usize) -> *mut u8 {
        // SAFETY: calloc accepts every pair of sizes and checks their product.
        unsafe { __libc_calloc(count, size) }.cast()
    }

    /// `alignment` must be a power of two. Null and ENOMEM when there is no memory.
    pub fn aligned(alignment: usize, size: usize, zeroed: bool) -> *mut u8 {
        if zeroed && alignment <= NATURAL {
            return calloc(1, size);
        }
        // SAFETY: the alignment is a power of two; glibc accepts every size with it.
        let block: *mut u8 = unsafe { __libc_memalign(alignment, size) }.cast();
        if zeroed && !block.is_null() {
            // SAFETY: the block is fresh and has `size` bytes.
            unsafe { block.write_bytes(0, size) };
        }
        block
    }

    /// Usable bytes.
    ///
    /// # Safety
    /// `block` must be live and glibc's.
    pub unsafe fn usable(block: *const u8) -> usize {
        let found = USABLE.load(Ordering::Relaxed);
        // SAFETY: `prepare` found the function before the first block was counted, and glibc's has this type.
        let usable: unsafe extern "C" fn(*mut c_void) -> usize = unsafe { std::mem::transmute(found) };
        // SAFETY: as the caller promises.
        unsafe { usable(block.cast_mut().cast()) }
    }

    /// Resizes.
    ///
    /// # Safety
    /// `block` must be live and glibc's; on success it is gone. `size` must not be 0.
    pub unsafe fn realloc(block: *mut u8, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { __libc_realloc(block.cast(), size) }.cast()
    }

    /// Resizes and keeps an alignment that is a power of two: glibc has no call for that, so a larger one than the natural
    /// costs a copy.
    ///
    /// # Safety
    /// As for [`realloc`].
    pub unsafe fn realloc_aligned(block: *mut u8, alignment: usize, size: usize) -> *mut u8 {
        if alignment <= NATURAL {
            // SAFETY: as the caller promises.
            return unsafe { realloc(block, size) };
        }
        let moved = aligned(alignment, size, false);
        if !moved.is_null() {
            // SAFETY: both blocks are live, distinct, and at least as long as the smaller of the two sizes.
            unsafe {
                moved.copy_from_nonoverlapping(block, usable(block).min(size));
                free(block);
            }
        }
        moved
    }

    /// Frees.
    ///
    /// # Safety
    /// `block` must be live and glibc's, or null.
    pub unsafe fn free(block: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe { __libc_free(block.cast()) }
    }
}

/// Another C library: its functions have one name each, which may be ours.
#[cfg(not(target_env = "gnu"))]
mod nothing {
    use super::super::jemalloc;
    pub use jemalloc::{aligned, calloc, free, malloc, realloc, realloc_aligned, usable};

    /// This backend cannot be had.
    pub fn prepare() -> bool {
        false
    }
}
