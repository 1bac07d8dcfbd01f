//! The functions of libtorch that are called, as the loader finds them in the process, and the types that they take.
use std::ffi::{CStr, c_char, c_void};

use crate::loaded;

/// `at::RecordFunction`: what libtorch tells of an operator. Where its fields stand is not known.
#[repr(C)]
pub struct RecordFunction([u8; 0]);

/// A callback at an operator's start. C++ returns a `std::unique_ptr`, for which the caller brings the place: `result`, which is
/// returned as well.
pub type Start = unsafe extern "C" fn(result: *mut usize, function: *const RecordFunction) -> *mut usize;
/// A callback at its end.
pub type End = unsafe extern "C" fn(function: *const RecordFunction, context: *mut c_void);

/// Which operators a callback is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// `RecordScope::FUNCTION`: operators, and the autograd engine's own events.
    Operators = 0,
    /// `RecordScope::BACKWARD_FUNCTION`: autograd nodes.
    Nodes = 1,
}

/// `at::RecordFunctionCallback`, which has 40 bytes in all versions from 2.1 to 2.15. One that has more finds zeros there.
#[repr(C)]
struct Callback {
    start: Start,
    end: End,
    /// The share of operators for which it is called.
    probability: f64,
    /// A flag for each `RecordScope`; then whether it needs inputs, outputs, ids.
    flags: [u8; 16],
    beyond: [u64; 11],
}

type Add = unsafe extern "C" fn(Callback) -> u64;
type Remove = unsafe extern "C" fn(u64);
type Name = unsafe extern "C" fn(*const RecordFunction) -> *const c_char;
type Thread = unsafe extern "C" fn() -> u64;
type Enabled = unsafe extern "C" fn() -> bool;
type Number = unsafe extern "C" fn() -> u64;

/// libtorch's functions. The library that has them is never unloaded: Python unloads none.
#[derive(Clone, Copy)]
pub struct Libtorch {
    add: Add,
    remove: Remove,
    name: Name,
    thread: Thread,
    /// `c10::GradMode::is_enabled`, if it is there.
    gradients: Option<Enabled>,
    /// `at::sequence_number::peek`, if it is there.
    next_node: Option<Number>,
}

impl Libtorch {
    /// The one that is loaded.
    ///
    /// # Errors
    /// When none is, or when it lacks a function; says which.
    pub fn loaded() -> Result<Libtorch, &'static CStr> {
        const FILE: &CStr = c"libtorch_cpu.so";
        // SAFETY: the name is a C string; with RTLD_NOLOAD nothing is loaded, so nothing of a library runs.
        let library = unsafe { libc::dlopen(FILE.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY) };
        if library.is_null() {
            return Err(c"no libtorch_cpu.so is loaded");
        }
        let find = |name: &CStr| {
            // SAFETY: the handle was returned just now, and the name is a C string.
            let found = unsafe { libc::dlsym(library, name.as_ptr()) };
            (!found.is_null() && is_in(FILE, found)).then_some(found)
        };
        // SAFETY: each is a function of this type, which the mangled name says as far as its arguments go; what it returns is
        // the same in all versions that were run. A function pointer is as large as a pointer.
        unsafe {
            Ok(Libtorch {
                add: std::mem::transmute::<*mut c_void, Add>(
                    find(c"_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE")
                        .ok_or(c"libtorch has no at::addGlobalCallback")?,
                ),
                remove: std::mem::transmute::<*mut c_void, Remove>(
                    find(c"_ZN2at14removeCallbackEm").ok_or(c"libtorch has no at::removeCallback")?,
                ),
                name: std::mem::transmute::<*mut c_void, Name>(
                    find(c"_ZNK2at14RecordFunction4nameEv").ok_or(c"libtorch has no at::RecordFunction::name")?,
                ),
                thread: std::mem::transmute::<*mut c_void, Thread>(
                    find(c"_ZN2at14RecordFunction15currentThreadIdEv")
                        .ok_or(c"libtorch has no at::RecordFunction::currentThreadId")?,
                ),
                gradients: grad_mode(),
                next_node: find(c"_ZN2at15sequence_number4peekEv")
                    .map(|found| std::mem::transmute::<*mut c_void, Number>(found)),
            })
        }
    }

    /// Has libtorch call these for all that is `watched`, on all threads, from now on. Returns the number for
    /// [`unwatch`](Self::unwatch).
    ///
    /// # Safety
    /// The functions do what libtorch expects of callbacks: `start` leaves a null in `result` and returns its address.
    pub unsafe fn watch(&self, watched: Watched, start: Start, end: End) -> u64 {
        let mut flags = [0; 16];
        flags[watched as usize] = 1;
        // SAFETY: the callback is one as libtorch knows it, and the functions are as the caller promises.
        unsafe { (self.add)(Callback { start, end, probability: 1.0, flags, beyond: [0; 11] }) }
    }

    /// Ends that.
    ///
    /// # Safety
    /// `number` was returned by [`watch`](Self::watch).
    pub unsafe fn unwatch(&self, number: u64) {
        // SAFETY: as the caller promises.
        unsafe { (self.remove)(number) }
    }

    /// An operator's name.
    ///
    /// # Safety
    /// `function` is what libtorch has called a callback with that has not returned; the name lives as long as that.
    pub unsafe fn name<'a>(&self, function: *const RecordFunction) -> &'a CStr {
        // SAFETY: as the caller promises.
        let name = unsafe { (self.name)(function) };
        // SAFETY: a name is a C string of libtorch's.
        if name.is_null() { c"" } else { unsafe { CStr::from_ptr(name) } }
    }

    /// libtorch's number of the calling thread.
    pub fn thread(&self) -> u64 {
        // SAFETY: the function takes nothing and may be called at any time.
        unsafe { (self.thread)() }
    }

    /// Whether gradients are on, on the calling thread. No where that cannot be asked.
    pub fn gradients_are_on(&self) -> bool {
        // SAFETY: as above.
        self.gradients.is_some_and(|enabled| unsafe { enabled() })
    }
}

impl Libtorch {
    /// Whether [`next_node`](Self::next_node) is known.
    pub fn counts_nodes(&self) -> bool {
        self.next_node.is_some()
    }

    /// The number that the next autograd node gets which the calling thread makes; -1 where that cannot be asked.
    pub fn next_node(&self) -> i64 {
        // SAFETY: as above; the function reads a number of the thread's.
        self.next_node.map_or(-1, |next| unsafe { next() }.cast_signed())
    }
}

/// c10's function that says whether gradients are on.
fn grad_mode() -> Option<Enabled> {
    const FILE: &CStr = c"libc10.so";
    // SAFETY: the names are C strings; with RTLD_NOLOAD nothing is loaded, so nothing of a library runs.
    let found = unsafe {
        let library = libc::dlopen(FILE.as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
        if library.is_null() {
            return None;
        }
        libc::dlsym(library, c"_ZN3c108GradMode10is_enabledEv".as_ptr())
    };
    let is_there = !found.is_null() && is_in(FILE, found);
    // SAFETY: a function that takes nothing, as the mangled name says, and returns a bool in all versions; a function pointer is as
    // large as a pointer.
    is_there.then(|| unsafe { std::mem::transmute::<*mut c_void, Enabled>(found) })
}

/// Whether an address lies in the library of this file's name.
fn is_in(file: &CStr, address: *const c_void) -> bool {
    loaded::any(|library| library.holds(address) && library.file() == file.to_bytes())
}
