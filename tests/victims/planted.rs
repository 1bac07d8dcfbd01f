//! Allocations of known sizes, planted by both doors under known scopes, each scope holding nothing else. Writes the
//! timeline named by its first argument; `tests/planted.rs` looks for each of them.
//!
//! `black_box` keeps the compiler from removing pairs of malloc and free whose block nobody looks at.
use std::ffi::c_void;
use std::hint::black_box;
use std::ptr;

use alloc_interpose as _;
use alloc_tracker::{Captured, Session, layer, phase};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

fn main() {
    let path = std::env::args().nth(1).expect("the timeline's path");
    let session = Session::builder().output(path).fact("model", "planted").start().expect("a session");

    // A Vec inside layer2.1.
    let in_layer = {
        let _phase = phase!("forward");
        let _layer = layer!("layer2.1");
        black_box(vec![1u8; 1_000_000])
    };
    // A malloc from a C thread, in a scope that was captured here. The thread is made outside of it.
    let mut scope = {
        let _phase = phase!("data");
        alloc_tracker::capture()
    };
    let from_thread = on_a_c_thread(&mut scope);
    // A realloc that grows from 1,000 to 50,000 bytes, in another scope than the one that allocated.
    let first = {
        let _phase = phase!("init");
        // SAFETY: malloc accepts every size.
        black_box(unsafe { libc::malloc(1_000) })
    };
    let grown = {
        let _phase = phase!("loss");
        // SAFETY: `first` is live and not used again.
        black_box(unsafe { libc::realloc(first, 50_000) })
    };
    // A page at a page's alignment.
    let mut aligned = ptr::null_mut();
    {
        let _phase = phase!("optimizer");
        // SAFETY: `aligned` is valid for writing.
        assert_eq!(unsafe { libc::posix_memalign(&mut aligned, 4096, 4096) }, 0);
    }
    assert_eq!(black_box(aligned).addr() % 4096, 0);
    // A hundred small blocks; the list of them is not in their scope.
    let mut small: Vec<Box<[u8; 100]>> = Vec::with_capacity(100);
    {
        let _phase = phase!("infer");
        small.extend((0..100).map(|_| black_box(Box::new([7; 100]))));
    }
    session.snapshot("all planted");
    // A leak.
    {
        let _phase = phase!("backward");
        let _layer = layer!("leaky");
        std::mem::forget(black_box(vec![0u8; 12_345]));
    }
    drop(in_layer);
    // SAFETY: each block is live, came from the C family, and is not used again.
    unsafe {
        libc::free(from_thread);
        libc::free(grown);
        libc::free(aligned);
    }
    drop(small);
    session.finish().expect("the timeline");
}

/// A block of 300,000 bytes, made in `scope` by a thread that Rust did not start.
fn on_a_c_thread(scope: &mut Captured) -> *mut c_void {
    extern "C" fn work(scope: *mut c_void) -> *mut c_void {
        // SAFETY: `scope` is the Captured that `on_a_c_thread` holds until this thread has ended.
        let _attached = unsafe { *scope.cast::<Captured>() }.attach();
        // SAFETY: malloc accepts every size.
        black_box(unsafe { libc::malloc(300_000) })
    }
    let mut result = ptr::null_mut();
    // SAFETY: pthread_t is plain data for which zeroes are a value; `work` has the signature asked for, and its
    // argument and `result` outlive the thread, which is waited for here.
    unsafe {
        let mut thread = std::mem::zeroed();
        assert_eq!(libc::pthread_create(&mut thread, ptr::null(), work, ptr::from_mut(scope).cast()), 0);
        assert_eq!(libc::pthread_join(thread, &mut result), 0);
    }
    result
}
