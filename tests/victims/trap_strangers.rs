//! Foreign blocks, which another allocator made: the program frees them (`free`), resizes them (`realloc`) and asks for
//! their usable size (`usable`). The other allocator is libc's own, called by its address. With `ALLOC_TRACKER=off` the
//! tracker has no tags by which it could recognise a foreign block, so this program would fail as it does over plain
//! jemalloc; it is not run in that mode.
use std::ffi::c_void;
use std::hint::black_box;

use alloc_interpose as _;

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

fn main() {
    let session = session();
    // SAFETY: RTLD_DEFAULT looks through all loaded objects for a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__libc_malloc".as_ptr()) };
    check("__libc_malloc", found.is_null(), false);
    // SAFETY: the symbol of that name has malloc's type.
    let theirs: unsafe extern "C" fn(usize) -> *mut c_void = unsafe { std::mem::transmute(found) };
    // SAFETY: malloc accepts every size; each block is live until its one free or the realloc that takes it.
    unsafe {
        let block = black_box(theirs(1_000)).cast::<u8>();
        block.write_bytes(7, 1_000);
        match trick().as_str() {
            "realloc" => {
                let block = black_box(libc::realloc(block.cast(), 100_000)).cast::<u8>();
                check("contents", std::slice::from_raw_parts(block, 1_000).iter().all(|&byte| byte == 7), true);
                libc::free(block.cast());
            }
            "zero" => check("realloc(p, 0)", libc::realloc(block.cast(), 0).is_null(), true),
            _ => {
                check("not ours", alloc_tracker::hooks::is_tracked(block), false);
                set_errno(99);
                libc::free(block.cast());
                check("errno", errno(), 99);
            }
        }
    }
    finish(session);
}
