//! Pages: zeroed blocks stay untouched, blocks grow in place where plain jemalloc grows them in place, and sizes beyond
//! 4 GiB and sums beyond 2 TB are counted right. The program touches no large block.
use std::alloc::{Layout, alloc_zeroed, dealloc, realloc};
use std::hint::black_box;

use alloc_interpose as _;
use alloc_tracker::phase;

mod huge_pages;
mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const GIB: usize = 1 << 30;

/// The most by which the resident set grows with a block of 1 GiB that nobody touches: the allocator's own pages.
fn own_pages() -> i64 {
    if huge_pages::are_always_on() { 8 << 20 } else { 2 << 20 }
}

fn main() {
    // Before the session, so that its thread's allocations do not come in between.
    grow();
    let session = session();
    let before = resident();
    zeroed();
    {
        let _phase = phase!("six");
        // SAFETY: malloc accepts every size.
        let block = black_box(unsafe { libc::malloc(6 * GIB + 5) });
        check("6 GiB", block.is_null(), false);
        let tagged = alloc_tracker::hooks::size_of(block.cast());
        check("its tag", tagged.map(|size| size.requested), (!is_off()).then_some(6 * GIB as u64 + 5));
        if let Some(session) = &session {
            session.snapshot("six live");
        }
        // SAFETY: the block is live.
        unsafe { libc::free(block) };
    }
    {
        let _phase = phase!("beyond 2 TB");
        // 513 times 4 GiB are 2 TiB and 4 GiB.
        for _ in 0..513 {
            // SAFETY: malloc accepts every size, and free any block of it.
            unsafe { libc::free(black_box(libc::malloc(4 * GIB))) };
        }
    }
    let grown = resident() - before;
    check_that("nothing of it is resident", grown < 64 << 20, grown);
    finish(session);
}

fn zeroed() {
    let _phase = phase!("zeroed");
    for align in [16, 64, 4096] {
        let layout = Layout::from_size_align(GIB, align).expect("a layout");
        let before = resident();
        // SAFETY: the layout's size is not 0, the bytes looked at lie in the block, and it is given back once.
        let (zero, grown) = unsafe {
            let block = black_box(alloc_zeroed(layout));
            let grown = resident() - before;
            let zero = *block == 0 && *block.add(GIB / 2) == 0 && *block.add(GIB - 1) == 0;
            dealloc(block, layout);
            (zero, grown)
        };
        check(&format!("1 GiB of zeroes aligned to {align}"), zero, true);
        check_that(&format!("is untouched ({align})"), grown < own_pages(), grown);
    }
    let before = resident();
    // SAFETY: calloc accepts every pair of sizes; the block is freed once.
    let grown = unsafe {
        let block = black_box(libc::calloc(GIB / 16, 16));
        let grown = resident() - before;
        libc::free(block);
        grown
    };
    check_that("calloc leaves pages untouched", grown < own_pages(), grown);
}

/// Prints how often growing blocks had to move; the test compares the lines of a tracked run and an untracked one.
fn grow() {
    for (first, step, last) in [(100_usize, 24, 14_000), (20_000, 4096, 8 << 20), (1 << 20, 1 << 20, 64 << 20)] {
        let (mut size, mut moves) = (first, 0);
        // SAFETY: the layouts' sizes are not 0, and each realloc is told the layout that the block has.
        unsafe {
            let layout = |size| Layout::from_size_align(size, 8).expect("a layout");
            let mut block = black_box(std::alloc::alloc(layout(size)));
            while size < last {
                let grown = black_box(realloc(block, layout(size), size + step));
                moves += u32::from(grown != block);
                (block, size) = (grown, size + step);
            }
            dealloc(block, layout(size));
        }
        println!("moves {first}..{last}: {moves}");
    }
}
