//! The C library's own allocator. glibc exports its functions under a second name as well (`__libc_malloc` and so on),
//! which no other library defines. Only `malloc_usable_size` has no second name: it is looked up once, and the one that
//! is found must lie in the same library.
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

    /// Looks up `malloc_usable_size`. May allocate. `false` when glibc's is not found: this backend cannot be used
    /// then.
    pub fn prepare() -> bool {
        let name = c"malloc_usable_size".as_ptr();
        // SAFETY: `name` is a C string; RTLD_NEXT asks for the definition that comes after this object's own, mostly
        // glibc's.
        let mut found = unsafe { libc::dlsym(libc::RTLD_NEXT, name) };
        if object_of(found) != object_of(__libc_malloc as *const c_void) {
            // The next definition belongs to another allocator, for example a preloaded one: glibc is asked by name.
            // SAFETY: both names are C strings. The library is loaded already and stays so: the handle is never closed.
            found = unsafe {
                let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
                if library.is_null() { ptr::null_mut() } else { libc::dlsym(library, name) }
            };
        }
        USABLE.store(found, Ordering::Relaxed);
        !found.is_null() && object_of(found) == object_of(__libc_malloc as *const c_void)
    }

    /// Allocates `size` bytes, any number. Null and ENOMEM when there is no memory.
    pub fn malloc(size: usize) -> *mut u8 {
        // SAFETY: malloc accepts every size.
        unsafe { __libc_malloc(size) }.cast()
    }

    /// Allocates `count` times `size` zeroed bytes. Null and ENOMEM when there is no memory or the product overflows.
    pub fn calloc(count: usize, size: usize) -> *mut u8 {
        // SAFETY: calloc accepts every pair of sizes and checks their product.
        unsafe { __libc_calloc(count, size) }.cast()
    }

    /// Allocates an aligned block. Null and ENOMEM when there is no memory.
    ///
    /// # Safety
    /// `alignment` must be a power of two.
    pub unsafe fn aligned(alignment: usize, size: usize, zeroed: bool) -> *mut u8 {
        if zeroed && alignment <= NATURAL {
            return calloc(1, size);
        }
        // SAFETY: the alignment is a power of two, as the caller promises; glibc accepts every size with it.
        let block: *mut u8 = unsafe { __libc_memalign(alignment, size) }.cast();
        if zeroed && !block.is_null() {
            // SAFETY: the block is fresh and has `size` bytes.
            unsafe { block.write_bytes(0, size) };
        }
        block
    }

    /// Usable bytes of a block.
    ///
    /// # Safety
    /// `block` must be live and glibc's.
    pub unsafe fn usable(block: *const u8) -> usize {
        let found = USABLE.load(Ordering::Relaxed);
        // SAFETY: the function has this type in glibc, and `prepare` found it: `choice.rs` takes this backend only
        // then, and `count::allocated` counts no block before the choice.
        let usable: unsafe extern "C" fn(*mut c_void) -> usize = unsafe { std::mem::transmute(found) };
        // SAFETY: as the caller promises.
        unsafe { usable(block.cast_mut().cast()) }
    }

    /// Resizes a block to `size` bytes. Null and ENOMEM when there is no memory; the block then stays.
    ///
    /// # Safety
    /// `block` must be live and glibc's; on success it is gone. `size` must not be 0.
    pub unsafe fn realloc(block: *mut u8, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { __libc_realloc(block.cast(), size) }.cast()
    }

    /// Resizes a block and keeps its alignment, a power of two. glibc has no call for that, so a block with more than
    /// the natural alignment is copied.
    ///
    /// # Safety
    /// As for [`realloc`]; `alignment` must be a power of two.
    pub unsafe fn realloc_aligned(block: *mut u8, alignment: usize, size: usize) -> *mut u8 {
        if alignment <= NATURAL {
            // SAFETY: as the caller promises.
            return unsafe { realloc(block, size) };
        }
        // SAFETY: the alignment is a power of two, as the caller promises.
        let moved = unsafe { aligned(alignment, size, false) };
        if !moved.is_null() {
            // SAFETY: both blocks are live, distinct, and at least as long as the smaller of the two sizes.
            unsafe {
                moved.copy_from_nonoverlapping(block, usable(block).min(size));
                free(block);
            }
        }
        moved
    }

    /// Frees a block, or does nothing for null.
    ///
    /// # Safety
    /// `block` must be live and glibc's, or null.
    pub unsafe fn free(block: *mut u8) {
        // SAFETY: as the caller promises.
        unsafe { __libc_free(block.cast()) }
    }
}

/// In place of glibc's allocator. Other C libraries export each function under one name only, and `alloc-interpose` may
/// have taken that name for itself.
#[cfg(not(target_env = "gnu"))]
mod nothing {
    use super::super::jemalloc;
    pub use jemalloc::{aligned, calloc, free, malloc, realloc, realloc_aligned, usable};

    /// `false`: this backend cannot be used.
    pub fn prepare() -> bool {
        false
    }
}
