//! errno stays what it was: across every free, every allocation that succeeds, and entering and leaving scopes. Run
//! once more by its test with a jemalloc that gives every freed page back at once.
use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;

use alloc_interpose as _;
use alloc_tracker::{layer, phase};
use libc::{calloc, free, malloc, realloc};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const SIZES: [usize; 12] =
    [0, 8, 16, 100, 14_336, 14_337, 60_000, 1 << 20, 9 << 20, 64 << 20, 300 << 20, (300 << 20) + 1];

/// Runs `work` with an errno of 99 and checks that it is still there.
fn keeps<T>(name: &str, work: impl FnOnce() -> T) -> T {
    set_errno(99);
    let result = work();
    let found = errno();
    check(name, found, 99);
    result
}

fn all() {
    for size in SIZES {
        // SAFETY: each block is live until its one free or the realloc that takes it, and is written within its size.
        unsafe {
            let block = keeps(&format!("malloc({size})"), || black_box(malloc(size)));
            // Not all of it: the machine is shared.
            ptr::write_bytes(block.cast::<u8>(), 1, size.min(1 << 20));
            let block = keeps(&format!("realloc({size} to double)"), || black_box(realloc(block, 2 * size + 1)));
            let block = keeps(&format!("realloc({size} to half)"), || black_box(realloc(block, size / 2 + 1)));
            keeps(&format!("free({size})"), || free(block));
            let block = keeps(&format!("calloc({size})"), || black_box(calloc(1, size)));
            keeps(&format!("free(calloc {size})"), || free(block));
            for alignment in [64, 4096, 1 << 21] {
                let mut block: *mut c_void = ptr::null_mut();
                let name = format!("posix_memalign({alignment}, {size})");
                keeps(&name, || libc::posix_memalign(&mut block, alignment, size));
                keeps(&format!("free({name})"), || free(block));
            }
        }
    }
}

fn main() {
    let session = session();
    keeps("entering a phase", || {
        let _phase = phase!("a name that was not there before");
        let _layer = layer!("nor this");
    });
    all();
    let worker = std::thread::spawn(|| {
        keeps("leaving", || drop(phase!("in a thread")));
        all();
    });
    worker.join().expect("no panic");
    // The very first allocation of a thread that Rust did not start.
    extern "C" fn first(_: *mut c_void) -> *mut c_void {
        set_errno(99);
        // SAFETY: malloc accepts every size.
        let block = black_box(unsafe { malloc(100) });
        let found = errno();
        // SAFETY: the block is live.
        unsafe { free(block) };
        ptr::without_provenance_mut((found == 99 && errno() == 99).into())
    }
    let mut result = ptr::null_mut();
    // SAFETY: pthread_t is plain data for which zeroes are a value; `first` has the signature asked for, and `result`
    // outlives the thread.
    unsafe {
        let mut thread = std::mem::zeroed();
        assert_eq!(libc::pthread_create(&mut thread, ptr::null(), first, ptr::null_mut()), 0);
        assert_eq!(libc::pthread_join(thread, &mut result), 0);
    }
    check("a thread's first malloc and free", result.addr(), 1);
    finish(session);
}
