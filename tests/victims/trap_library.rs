//! A C library that is loaded and unloaded again and again, with and without RTLD_DEEPBIND; the second argument is its
//! path (`tests/traps/compiled.rs` has its source and compiles it). Its constructor, destructor and IFUNC resolver
//! allocate. This program frees the library's blocks and, where the library's `free` is the tracker's, the library
//! frees this program's. A longjmp in the library leaves a scope without dropping its guard.
//!
//! With RTLD_DEEPBIND the library is bound to libc's own malloc, so its blocks are foreign to the tracker. The library
//! frees none of this program's blocks then, since that would be an error with any allocator. With `ALLOC_TRACKER=off`
//! the tracker does not recognise foreign blocks, so the library frees its own blocks itself.
use std::ffi::{CString, c_int, c_void};
use std::hint::black_box;

use alloc_interpose as _;
use alloc_tracker::{capture, phase};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

struct Library {
    handle: *mut c_void,
    make: unsafe extern "C" fn(usize) -> *mut c_void,
    give: unsafe extern "C" fn(*mut c_void),
    resolved: unsafe extern "C" fn() -> c_int,
    guarded: unsafe extern "C" fn(extern "C" fn()) -> c_int,
    jump: *mut c_void,
}

fn load(path: &str, flags: c_int) -> Library {
    let path = CString::new(path).expect("a path");
    // SAFETY: the library's constructors are the test's own.
    let handle = unsafe { libc::dlopen(path.as_ptr(), flags) };
    assert!(!handle.is_null(), "the library at {path:?}");
    // SAFETY: `handle` is a loaded library, and the names are C strings.
    let find = |name: &std::ffi::CStr| unsafe { libc::dlsym(handle, name.as_ptr()) };
    // SAFETY: the library's functions have these types.
    unsafe {
        Library {
            handle,
            make: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(usize) -> *mut c_void>(find(c"trap_make")),
            give: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*mut c_void)>(find(c"trap_give")),
            resolved: std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> c_int>(find(c"trap_resolved")),
            guarded: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(extern "C" fn()) -> c_int>(find(
                c"trap_guarded",
            )),
            jump: find(c"trap_jump"),
        }
    }
}

static JUMP: std::sync::atomic::AtomicPtr<c_void> = std::sync::atomic::AtomicPtr::new(std::ptr::null_mut());

/// Enters a scope that a longjmp leaves. The guard is forgotten first, because a longjmp over a frame with something to
/// drop is undefined behaviour.
extern "C" fn enters_and_jumps() {
    std::mem::forget(phase!("jumped out of"));
    // SAFETY: the library's function has this type; the frames up to `trap_guarded` have nothing to drop.
    unsafe {
        let jump: extern "C" fn() -> ! = std::mem::transmute(JUMP.load(std::sync::atomic::Ordering::Relaxed));
        jump()
    }
}

fn main() {
    let session = session();
    let path = trick();
    let (mut resolved, mut ours, mut made) = (0, 0, 0);
    for round in 0..100 {
        let deep = if round % 2 == 0 { 0 } else { libc::RTLD_DEEPBIND };
        let library = load(&path, libc::RTLD_NOW | libc::RTLD_LOCAL | deep);
        // SAFETY: the functions take these arguments, each block is freed once, and the library is closed last.
        unsafe {
            resolved += (library.resolved)();
            for size in [1, 100, 20_000, 1 << 20] {
                let block = black_box((library.make)(size));
                made += 1;
                let tracked = alloc_tracker::hooks::is_tracked(block.cast());
                ours += i32::from(tracked);
                if is_off() && deep != 0 {
                    (library.give)(block)
                } else {
                    libc::free(block)
                }
                if deep == 0 {
                    (library.give)(black_box(libc::malloc(size)));
                }
            }
            let before = capture();
            {
                let _phase = phase!("around the jump");
                let inside = capture();
                JUMP.store(library.jump, std::sync::atomic::Ordering::Relaxed);
                let came_back = (library.guarded)(enters_and_jumps);
                if came_back != 1 || (capture() == inside && !is_off()) {
                    println!("FAIL the jump: expected to be in the scope jumped out of");
                }
            }
            // Dropping the outer guard leaves the scopes that were entered inside of it as well.
            if capture() != before {
                println!("FAIL the scope after a jump: expected {before:?} got {:?}", capture());
            }
            libc::dlclose(library.handle);
        }
    }
    check("IFUNC resolvers that allocated", resolved, 100);
    check("blocks", made, 400);
    check("of them bound to us", ours, if is_off() { 0 } else { 200 });
    finish(session);
}
