//! Every size from 1 to 20,000, through both doors and at several alignments: each tag has the requested size and the
//! size that `malloc_usable_size` returns, and at the end the counters are as they were before.
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::ffi::c_void;
use std::hint::black_box;

use alloc_interpose as _;
use alloc_tracker::{BlockSize, hooks, phase};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const SIZES: std::ops::RangeInclusive<usize> = 1..=20_000;

/// Whether the block's tag says `size` and its usable size.
fn tagged(block: *mut u8, size: usize) -> bool {
    // SAFETY: the block is live.
    let usable = unsafe { libc::malloc_usable_size(block.cast()) };
    let expected = BlockSize { usable: usable as u64, requested: size as u64 };
    usable >= size && (is_off() || hooks::size_of(block) == Some(expected))
}

fn main() {
    let session = session();
    let mut blocks: Vec<*mut c_void> = Vec::with_capacity(20_000);
    {
        let _phase = phase!("one by one");
        // SAFETY: each block is live until its one free.
        let right = SIZES.filter(|&size| unsafe {
            let block = black_box(libc::malloc(size));
            let right = tagged(block.cast(), size);
            libc::free(block);
            let block = black_box(libc::calloc(size, 1));
            let right = right && tagged(block.cast(), size);
            libc::free(block);
            right
        });
        check("malloc and calloc, one by one", right.count(), 20_000);
    }
    {
        let _phase = phase!("all at once");
        // SAFETY: malloc accepts every size.
        blocks.extend(SIZES.map(|size| black_box(unsafe { libc::malloc(size) })));
    }
    let right = blocks.iter().zip(SIZES).filter(|(block, size)| tagged(block.cast(), *size));
    check("malloc, all at once", right.count(), 20_000);
    // SAFETY: the blocks are live.
    let usable: usize = blocks.iter().map(|&block| unsafe { libc::malloc_usable_size(block) }).sum();
    println!("usable {usable}");
    if let Some(session) = &session {
        session.snapshot("all live");
    }
    // SAFETY: each block is live and freed once.
    blocks.drain(..).rev().for_each(|block| unsafe { libc::free(block) });
    {
        let _phase = phase!("resized");
        let mut block = std::ptr::null_mut();
        let mut right = 0;
        for size in SIZES.chain(SIZES.rev()) {
            // SAFETY: the block is null or live, and the realloc takes it.
            block = black_box(unsafe { libc::realloc(block, size) });
            right += usize::from(tagged(block.cast(), size));
        }
        // SAFETY: the block is live.
        unsafe { libc::free(block) };
        check("realloc by one byte, up and down", right, 40_000);
    }
    {
        let _phase = phase!("layouts");
        for align in [1, 8, 16, 32, 64, 4096] {
            check(&format!("layouts aligned to {align}"), SIZES.filter(|&size| layout(size, align)).count(), 20_000);
        }
    }
    finish(session);
}

/// A Rust allocation that is doubled and halved again, at its alignment all the time.
fn layout(size: usize, align: usize) -> bool {
    let layout = Layout::from_size_align(size, align).expect("a layout");
    let double = Layout::from_size_align(2 * size, align).expect("a layout");
    // SAFETY: the layouts have sizes above 0, and each block is given back once with the layout that it then has.
    unsafe {
        let zeroed = black_box(alloc_zeroed(layout));
        let mut right =
            *zeroed == 0 && *zeroed.add(size - 1) == 0 && zeroed.addr().is_multiple_of(align) && tagged(zeroed, size);
        dealloc(zeroed, layout);
        let block = black_box(alloc(layout));
        right &= block.addr().is_multiple_of(align) && tagged(block, size);
        block.add(size - 1).write(9);
        let block = black_box(realloc(block, layout, 2 * size));
        right &= block.addr().is_multiple_of(align) && *block.add(size - 1) == 9 && tagged(block, 2 * size);
        let block = black_box(realloc(block, double, size));
        right &= block.addr().is_multiple_of(align) && *block.add(size - 1) == 9 && tagged(block, size);
        dealloc(block, layout);
        right
    }
}
