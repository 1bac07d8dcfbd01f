//! A C++ exception that passes Rust's frames, with scopes entered in them. The second argument is the library that
//! throws and catches (`tests/traps/compiled.rs` has its source).
use std::ffi::{CStr, CString, c_int, c_void};
use std::hint::black_box;
use std::sync::OnceLock;

use alloc_interpose as _;
use alloc_tracker::{capture, layer, phase};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

type Throw = extern "C-unwind" fn();
type Catch = extern "C-unwind" fn(Throw) -> c_int;

static THROW: OnceLock<Throw> = OnceLock::new();

/// The exception drops everything in this frame.
extern "C-unwind" fn passed_through() {
    let _phase = phase!("thrown through");
    let _held = black_box(vec![1u8; 1000]);
    let _layer = layer!("inner");
    let _large = black_box(vec![1u8; 100_000]);
    THROW.get().expect("the function")();
}

/// Forgets the guard of its scope. The guard around it leaves that scope as well.
extern "C-unwind" fn leaks() {
    std::mem::forget(phase!("leaked"));
    THROW.get().expect("the function")();
}

fn find(library: *mut c_void, name: &CStr) -> *mut c_void {
    // SAFETY: `library` is loaded, and the name is a C string.
    let found = unsafe { libc::dlsym(library, name.as_ptr()) };
    assert!(!found.is_null(), "{name:?}");
    found
}

fn main() {
    let session = session();
    let path = CString::new(trick()).expect("a path");
    // SAFETY: the library's constructors are the test's own.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!library.is_null(), "the library at {path:?}");
    // SAFETY: the library's functions have these types.
    let (throw, catch) = unsafe {
        (
            std::mem::transmute::<*mut c_void, Throw>(find(library, c"trap_throw")),
            std::mem::transmute::<*mut c_void, Catch>(find(library, c"trap_catch")),
        )
    };
    THROW.get_or_init(|| throw);
    // The first exception makes the unwinder allocate what it keeps. That happens outside of all scopes.
    catch(throw);
    let before = capture();
    let (mut caught, mut restored) = (0, 0);
    for _ in 0..100 {
        caught += catch(passed_through);
        restored += u32::from(capture() == before);
    }
    check("what was caught: its length, a hundred times", caught, 100_000);
    check("scopes as before the throw", restored, 100);
    {
        let _phase = phase!("around");
        check("a leaked scope", catch(leaks), 1000);
    }
    check("the scope after that", capture() == before, true);
    finish(session);
}
