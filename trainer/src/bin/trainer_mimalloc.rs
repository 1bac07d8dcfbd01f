//! The trainer over mimalloc, C++ included: the executable exports C's malloc family, and mimalloc answers it. Rust's
//! allocations arrive there as well, through the standard library's default allocator. Nothing is tracked.
//! `trainer compare --allocator mimalloc` runs it; it needs `--track off`.
use std::ffi::{c_int, c_void};
use std::process::ExitCode;

// Links mimalloc, whose functions are declared below.
use libmimalloc_sys as _;

unsafe extern "C" {
    fn mi_malloc(size: usize) -> *mut c_void;
    fn mi_calloc(count: usize, size: usize) -> *mut c_void;
    fn mi_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn mi_reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void;
    fn mi_free(block: *mut c_void);
    fn mi_posix_memalign(to: *mut *mut c_void, alignment: usize, size: usize) -> c_int;
    fn mi_aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    fn mi_memalign(alignment: usize, size: usize) -> *mut c_void;
    fn mi_valloc(size: usize) -> *mut c_void;
    fn mi_pvalloc(size: usize) -> *mut c_void;
    fn mi_malloc_usable_size(block: *const c_void) -> usize;
}

/// Exports one function of the family under C's name; mimalloc's has the same arguments and the same meaning.
macro_rules! export {
    ($($name:ident => $mimalloc:ident($($argument:ident: $type:ty),*) $(-> $returns:ty)?;)*) => {
        $(
            /// C's function of this name.
            ///
            /// # Safety
            /// As C says of the function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) $(-> $returns)? {
                // SAFETY: mimalloc's function asks of its caller what C's asks, and the caller keeps to C's.
                unsafe { $mimalloc($($argument),*) }
            }
        )*

        /// Keeps the linker from dropping the functions above.
        #[used]
        static FAMILY: Pinned<{ [$(stringify!($name)),*].len() }> = Pinned([$($name as *const ()),*]);
    };
}

/// A table of function addresses, which is never read.
struct Pinned<const N: usize>(#[allow(dead_code, reason = "it is there to be linked")] [*const (); N]);

// SAFETY: the table is never written, and its addresses are those of functions and are never used.
unsafe impl<const N: usize> Sync for Pinned<N> {}

export! {
    malloc => mi_malloc(size: usize) -> *mut c_void;
    calloc => mi_calloc(count: usize, size: usize) -> *mut c_void;
    realloc => mi_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    reallocarray => mi_reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void;
    free => mi_free(block: *mut c_void);
    cfree => mi_free(block: *mut c_void);
    posix_memalign => mi_posix_memalign(to: *mut *mut c_void, alignment: usize, size: usize) -> c_int;
    aligned_alloc => mi_aligned_alloc(alignment: usize, size: usize) -> *mut c_void;
    memalign => mi_memalign(alignment: usize, size: usize) -> *mut c_void;
    valloc => mi_valloc(size: usize) -> *mut c_void;
    pvalloc => mi_pvalloc(size: usize) -> *mut c_void;
    malloc_usable_size => mi_malloc_usable_size(block: *const c_void) -> usize;
}

fn main() -> ExitCode {
    trainer::main()
}
