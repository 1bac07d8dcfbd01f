//! The arenas in which Python has its small objects, named in the book. Python asks a function for each, and lets others put one
//! of their own in its place: <https://docs.python.org/3/c-api/memory.html#c.PyObject_SetArenaAllocator>.
use std::ffi::{CStr, c_void};
use std::sync::OnceLock;

use alloc_tracker::hooks::{self, Name};
use alloc_tracker::unaided::{mapped, unmapped};

use crate::loaded::function;

/// `PyObjectArenaAllocator`.
#[repr(C)]
#[derive(Clone, Copy)]
struct ArenaAllocator {
    context: *mut c_void,
    alloc: Option<unsafe extern "C" fn(context: *mut c_void, bytes: usize) -> *mut c_void>,
    free: Option<unsafe extern "C" fn(context: *mut c_void, arena: *mut c_void, bytes: usize)>,
}

type Exchange = unsafe extern "C" fn(*mut ArenaAllocator);

/// What arenas are called, as a number.
static NAME: OnceLock<Name> = OnceLock::new();

/// Python's function of this name, one that takes a pointer to the structure and returns nothing; `None` in another program.
fn python(name: &CStr) -> Option<Exchange> {
    // SAFETY: both functions that are asked for have this type.
    unsafe { function(name) }
}

/// Has arenas named that Python maps from now on. To be called once, by a thread that holds the interpreter's lock, under which Python
/// asks for arenas. False where there is no Python, or one that has no arenas.
#[unsafe(no_mangle)]
pub extern "C" fn alloc_tracker_watch_python_arenas() -> bool {
    let Some((get, set)) = python(c"PyObject_GetArenaAllocator").zip(python(c"PyObject_SetArenaAllocator")) else {
        return false;
    };
    let mut pythons = ArenaAllocator { context: std::ptr::null_mut(), alloc: None, free: None };
    // SAFETY: the function fills in the structure, which is Python's since version 3.4.
    unsafe { get(&raw mut pythons) };
    if pythons.alloc.is_none() || pythons.free.is_none() || NAME.set(hooks::name("Python's arenas")).is_err() {
        return false;
    }
    // Python keeps it for the life of the process.
    let context = Box::into_raw(Box::new(pythons)).cast();
    let mut own = ArenaAllocator { context, alloc: Some(alloc), free: Some(free) };
    // SAFETY: Python copies the structure. Both functions may be called wherever Python's are, since they call these.
    unsafe { set(&raw mut own) };
    true
}

/// # Safety
/// `context` is the one that was given to Python.
unsafe extern "C" fn alloc(context: *mut c_void, bytes: usize) -> *mut c_void {
    // SAFETY: the context is the structure with Python's own functions, which is never freed.
    let pythons = unsafe { &*context.cast::<ArenaAllocator>() };
    let Some(alloc) = pythons.alloc else { return std::ptr::null_mut() };
    // SAFETY: Python's function gets Python's context.
    let arena = unsafe { alloc(pythons.context, bytes) };
    if let Some(name) = NAME.get().filter(|_| !arena.is_null()) {
        mapped(name.0, arena.addr(), bytes);
    }
    arena
}

/// # Safety
/// `context` is the one that was given to Python, and `arena` has `bytes` bytes and comes from Python's function.
unsafe extern "C" fn free(context: *mut c_void, arena: *mut c_void, bytes: usize) {
    #[cfg(feature = "stacks")]
    super::trial::before_unmapping();
    // Before another thread can map something at this address.
    unmapped(arena.addr());
    // SAFETY: the context is the structure with Python's own functions, which is never freed.
    let pythons = unsafe { &*context.cast::<ArenaAllocator>() };
    if let Some(free) = pythons.free {
        // SAFETY: as the caller promises.
        unsafe { free(pythons.context, arena, bytes) };
    }
}
