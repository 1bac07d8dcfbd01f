//! The storages of tensors, as they are allocated. libtorch's allocator for the processor's memory asks `c10::alloc_cpu` for each;
//! this library has a function of that name as well, which the loader finds first.
use std::ffi::c_void;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use alloc_tracker::hooks::Name;
use alloc_tracker::{Category, hooks};

use super::operators::ATTRIBUTION;
use super::own::Own;

type AllocCpu = unsafe extern "C-unwind" fn(usize) -> *mut c_void;

static OWN: Own = Own::new(c"_ZN3c109alloc_cpuEm", c"libc10.so");
/// Whether storages are announced.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Announces storages from now on. Returns whether libtorch asks here for them.
pub fn watch() -> bool {
    let comes_here = OWN.was_called();
    NAMES.get_or_init(|| Names { loss: hooks::name("loss"), factories: FACTORIES.map(hooks::name) });
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
    // SAFETY: libtorch's function of this name takes a size and returns a block.
    match unsafe { OWN.function::<AllocCpu>() } {
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

/// The operators that make a tensor of none.
const FACTORIES: [&str; 12] = [
    "aten::arange",
    "aten::empty",
    "aten::empty_strided",
    "aten::eye",
    "aten::full",
    "aten::linspace",
    "aten::ones",
    "aten::rand",
    "aten::randint",
    "aten::randn",
    "aten::randperm",
    "aten::zeros",
];

/// The numbers of names.
struct Names {
    loss: Name,
    factories: [Name; FACTORIES.len()],
}

static NAMES: OnceLock<Names> = OnceLock::new();

/// What a storage is for that is allocated now. A program that is not changed has phases from its first batch on; what it makes
/// before, a data set say, is no activation. Nor is what it makes out of nothing after a forward pass: it may be the loss's target, but also
/// a data set, where that pass was to find out a size and no backward pass follows.
pub fn category() -> Category {
    let current = hooks::current();
    let category = ATTRIBUTION.storage_category(current);
    let is_of_nothing =
        || NAMES.get().is_some_and(|names| current.phase == names.loss && names.factories.contains(&current.op));
    if category == Category::Activation && (current.phase == Name(0) || is_of_nothing()) {
        Category::Other
    } else {
        category
    }
}

/// A block as libtorch's function gives it, where that was not found.
#[cold]
fn aligned(bytes: usize) -> *mut c_void {
    let mut block = ptr::null_mut();
    if bytes != 0 {
        // SAFETY: there is a place for the result, and 64 is a power of two. On an error nothing is written there.
        unsafe { libc::posix_memalign(&raw mut block, 64, bytes) };
    }
    block
}
