//! Allocations of known sizes, planted by both doors under known scopes. Writes the timeline named by its first
//! argument; `tests/planted.rs` looks for each of them.
use alloc_interpose as _;
use alloc_tracker::{Session, layer, phase};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

fn main() {
    let path = std::env::args().nth(1).expect("the timeline's path");
    let session = Session::builder().output(path).fact("model", "planted").start().expect("a session");

    // A Vec inside layer2.1: 1,000,000 bytes requested.
    let in_layer = {
        let _phase = phase!("forward");
        let _layer = layer!("layer2.1");
        vec![1u8; 1_000_000]
    };
    // A malloc from a C thread, in a scope that was captured here.
    let from_thread = {
        let _phase = phase!("data");
        let scope = alloc_tracker::capture();
        std::thread::spawn(move || {
            let _attached = scope.attach();
            // SAFETY: malloc accepts every size.
            unsafe { libc::malloc(300_000) }.expose_provenance()
        })
        .join()
        .expect("the thread ends")
    };
    // A realloc that grows from 1,000 to 50,000 bytes, in another scope than the one that allocated.
    let grown = {
        let first = {
            let _phase = phase!("init");
            // SAFETY: malloc accepts every size.
            unsafe { libc::malloc(1_000) }
        };
        let _phase = phase!("loss");
        // SAFETY: `first` is live and not used again.
        unsafe { libc::realloc(first, 50_000) }
    };
    // posix_memalign: 4,096 bytes at a page's alignment.
    let mut aligned = std::ptr::null_mut();
    {
        let _phase = phase!("optimizer");
        // SAFETY: `aligned` is valid for writing.
        assert_eq!(unsafe { libc::posix_memalign(&mut aligned, 4096, 4096) }, 0);
    }
    assert_eq!(aligned.addr() % 4096, 0);
    // A hundred small blocks of 100 bytes.
    let small: Vec<Box<[u8; 100]>> = {
        let _phase = phase!("infer");
        (0..100).map(|_| Box::new([7; 100])).collect()
    };
    session.snapshot("all planted");
    // A leak: 12,345 bytes that nobody frees.
    {
        let _phase = phase!("backward");
        let _layer = layer!("leaky");
        std::mem::forget(vec![0u8; 12_345]);
    }
    drop(in_layer);
    // SAFETY: each block is live, came from the C family, and is not used again.
    unsafe {
        libc::free(std::ptr::with_exposed_provenance_mut(from_thread));
        libc::free(grown);
        libc::free(aligned);
    }
    drop(small);
    session.finish().expect("the timeline");
}
