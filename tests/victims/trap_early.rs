//! Blocks that were allocated before the tracker's own start, resized and freed in `main`; and allocations inside of
//! dlsym, which keeps the text of its latest error for each thread.
use std::ffi::{CStr, c_void};
use std::hint::black_box;
use std::sync::atomic::{AtomicPtr, Ordering};

use alloc_interpose as _;
use alloc_tracker::hooks::is_tracked;

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const SIZES: [usize; 5] = [1, 16, 1_000, 20_000, 5 << 20];
static BLOCKS: [AtomicPtr<c_void>; 10] = [const { AtomicPtr::new(std::ptr::null_mut()) }; 10];

/// Runs before the constructors of all libraries and before the tracker's own.
#[used]
#[unsafe(link_section = ".preinit_array")]
static FIRST: extern "C" fn() = first;

extern "C" fn first() {
    for (index, place) in BLOCKS.iter().enumerate() {
        // SAFETY: malloc accepts every size.
        place.store(unsafe { libc::malloc(SIZES[index % 5]) }, Ordering::Relaxed);
    }
}

/// Looks for a symbol that does not exist. The text of the error is a block that belongs to this thread.
fn looks_in_vain() -> bool {
    // SAFETY: RTLD_DEFAULT looks through all loaded objects for a C string; dlerror's text is read at once.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, c"there_is_no_such_symbol".as_ptr());
        let text = libc::dlerror();
        found.is_null() && !text.is_null() && CStr::from_ptr(text).to_bytes().ends_with(b"there_is_no_such_symbol")
    }
}

fn main() {
    let blocks = BLOCKS.each_ref().map(|place| place.load(Ordering::Relaxed));
    check("blocks", blocks.iter().any(|block| block.is_null()), false);
    check("ours", blocks.iter().filter(|block| is_tracked(block.cast())).count(), if is_off() { 0 } else { 10 });
    let session = session();
    for (index, &block) in blocks.iter().enumerate() {
        // SAFETY: each block is live until its one free or the realloc that takes it.
        unsafe { libc::free(if index < 5 { black_box(libc::realloc(block, 3_000)) } else { block }) };
    }
    let vain: usize = (0..20)
        .map(|_| std::thread::spawn(|| (0..10).filter(|_| looks_in_vain()).count()))
        .map(|thread| thread.join().expect("no panic"))
        .sum();
    check("symbols that are not there", vain, 200);
    finish(session);
}
