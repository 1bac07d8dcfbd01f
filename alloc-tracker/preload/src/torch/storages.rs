//! The storages of tensors, as they are allocated. libtorch's allocator for the processor's memory asks `c10::alloc_cpu` for each;
//! this library has a function of that name as well, which the loader finds first.
use std::ffi::{CStr, c_void};
use std::mem;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use alloc_tracker::{Category, hooks, work_of};

use super::operators::ATTRIBUTION;

type AllocCpu = unsafe extern "C-unwind" fn(usize) -> *mut c_void;

const NAME: &CStr = c"_ZN3c109alloc_cpuEm";

/// libtorch's own.
static REAL: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
/// Whether storages are announced.
static IS_ON: AtomicBool = AtomicBool::new(false);
/// Whether libtorch's storages come here.
static WAS_CALLED: AtomicBool = AtomicBool::new(false);

/// Announces storages from now on. Returns whether libtorch asks here for them.
pub fn watch() -> bool {
    let comes_here = WAS_CALLED.load(Ordering::Relaxed);
    IS_ON.store(comes_here, Ordering::Relaxed);
    comes_here
}

/// `c10::alloc_cpu(size_t)`. It throws when there is no memory.
///
/// # Safety
/// As for libtorch's own.
#[unsafe(export_name = "_ZN3c109alloc_cpuEm")]
pub unsafe extern "C-unwind" fn alloc_cpu(bytes: usize) -> *mut c_void {
    let _announced = IS_ON.load(Ordering::Relaxed).then(Announced::new);
    match real() {
        // SAFETY: as the caller promises.
        Some(real) => unsafe { real(bytes) },
        None => aligned(bytes),
    }
}

/// A storage that is about to be allocated; taken back when it is dropped, also when libtorch throws.
struct Announced;

impl Announced {
    fn new() -> Announced {
        hooks::expect_storage(Some(category()));
        Announced
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        hooks::expect_storage(None);
    }
}

/// What a storage is for that is allocated now. A program that is not changed has phases from its first batch on; what it makes
/// before, a data set say, is no activation.
fn category() -> Category {
    let category = ATTRIBUTION.storage_category();
    let is_before = || matches!(work_of(hooks::text(hooks::current().phase)), "" | "import");
    if category == Category::Activation && is_before() { Category::Other } else { category }
}

/// libtorch's own function.
fn real() -> Option<AllocCpu> {
    let mut found = REAL.load(Ordering::Relaxed);
    if found.is_null() {
        found = look_up();
        REAL.store(found, Ordering::Relaxed);
    }
    // SAFETY: libtorch's function of this name, which takes a size and returns a block; a function pointer is as large as a
    // pointer.
    (!found.is_null()).then(|| unsafe { mem::transmute::<*mut c_void, AllocCpu>(found) })
}

#[cold]
fn look_up() -> *mut c_void {
    WAS_CALLED.store(true, Ordering::Relaxed);
    // SAFETY: the names are C strings. With RTLD_NOLOAD nothing is loaded, so nothing of a library runs.
    unsafe {
        let library = libc::dlopen(c"libc10.so".as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
        libc::dlsym(if library.is_null() { libc::RTLD_NEXT } else { library }, NAME.as_ptr())
    }
}

/// A block as libtorch's function gives it, where that was not found because its library has another name.
#[cold]
fn aligned(bytes: usize) -> *mut c_void {
    let mut block = ptr::null_mut();
    if bytes != 0 {
        // SAFETY: there is a place for the result, and 64 is a power of two. On an error nothing is written there.
        unsafe { libc::posix_memalign(&raw mut block, 64, bytes) };
    }
    block
}
