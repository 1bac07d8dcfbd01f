//! The C malloc family as glibc's manual and POSIX define it; each check prints a line. Everything is allocated in the
//! phases `checks` and `failing`, which own nothing at the end.
use std::collections::HashSet;
use std::ffi::{CStr, c_void};
use std::hint::black_box;
use std::ptr::{self, null_mut};

use alloc_interpose as _;
use alloc_tracker::{BlockSize, Session, phase};
use libc::{EINVAL, ENOMEM, calloc, free, malloc, malloc_usable_size, realloc};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const HUGE: usize = isize::MAX as usize / 2;

fn main() {
    let session = session();
    {
        let _phase = phase!("checks");
        nothing();
        resizes();
        failed_resizes(session.as_ref());
        overflows();
        posix_memalign();
        aligned();
        usable_to_the_end();
        sized_frees();
        library_results();
    }
    finish(session);
}

fn aligned_to(block: *mut c_void, alignment: usize) -> bool {
    !block.is_null() && block.addr().is_multiple_of(alignment)
}

/// Requests of no bytes.
fn nothing() {
    // SAFETY: each block is live until its one free; null may be freed.
    unsafe {
        let blocks: Vec<*mut c_void> = (0..100).map(|_| black_box(malloc(0))).collect();
        check("malloc(0) gives blocks", blocks.iter().all(|block| !block.is_null()), true);
        check("malloc(0) is unique", blocks.iter().collect::<HashSet<_>>().len(), 100);
        blocks.into_iter().for_each(|block| free(block));
        let block = black_box(calloc(0, 8));
        check("calloc(0, 8) gives a block", block.is_null(), false);
        free(block);
        free(black_box(null_mut()));
        check("malloc_usable_size(NULL)", malloc_usable_size(null_mut()), 0);
    }
}

fn resizes() {
    // SAFETY: each block is live until its one free or the realloc that takes it.
    unsafe {
        for size in [1, 16, 100, 5_000, 100_000, 10 << 20] {
            let block = black_box(malloc(size));
            check(&format!("realloc(p, 0) of {size} frees"), realloc(block, 0), null_mut());
        }
        let (block, other) = (black_box(realloc(null_mut(), 1_000)), black_box(malloc(1_000)));
        check("realloc(NULL, n) allocates", malloc_usable_size(block), malloc_usable_size(other));
        free(block);
        free(other);
        // Through every kind of tag and back. The first byte and the last byte that both sizes have stay the same.
        let sizes =
            [1, 8, 9, 16, 17, 24, 48, 100, 1_000, 14_336, 14_337, 16_385, 1 << 20, 64 << 20, 14_337, 100, 16, 1];
        let mut kept = true;
        let mut block = black_box(malloc(1)).cast::<u8>();
        *block = 1;
        for pair in sizes.windows(2) {
            block.add(pair[0] - 1).write(7);
            block.write(3);
            block = black_box(realloc(block.cast(), pair[1])).cast();
            let last = pair[0].min(pair[1]) - 1;
            kept &= *block == 3 && (last == 0 || pair[1] < pair[0] || *block.add(last) == 7);
        }
        check("realloc keeps the contents through all lanes", kept, true);
        free(block.cast());
    }
}

/// A realloc that fails leaves the block as it was.
fn failed_resizes(session: Option<&Session>) {
    // SAFETY: each block is live until its one free; a failed realloc leaves it so.
    unsafe {
        for size in [5_usize, 1_000, 50_000, 20 << 20] {
            let name = format!("failed {size}");
            // The block is the only one of this phase.
            let failing = phase!("failing");
            let block = black_box(malloc(size)).cast::<u8>();
            ptr::write_bytes(block, 0x5a, size);
            set_errno(0);
            let resized = realloc(block.cast(), HUGE);
            let errno = errno();
            drop(failing);
            check(&format!("realloc of {size} to half the address space"), resized, null_mut());
            if let Some(session) = session {
                session.snapshot(&name);
            }
            check(&format!("its errno ({size})"), errno, ENOMEM);
            let intact = std::slice::from_raw_parts(block, size).iter().all(|&byte| byte == 0x5a);
            check(&format!("its contents ({size})"), intact, true);
            if !is_off() {
                let tagged = alloc_tracker::hooks::size_of(block);
                let usable = malloc_usable_size(block.cast()) as u64;
                let expected = BlockSize { usable, requested: size as u64 };
                check(&format!("its tag ({size})"), tagged, Some(expected));
            }
            free(block.cast());
        }
    }
}

fn overflows() {
    // SAFETY: the sizes overflow, so no block comes of them; the one that lives is freed once.
    unsafe {
        for (count, size) in [(usize::MAX, 2), (1 << 33, 1 << 33), (3, usize::MAX / 2)] {
            set_errno(0);
            check("calloc overflow", black_box(calloc(black_box(count), size)), null_mut());
            check("its errno", errno(), ENOMEM);
            set_errno(0);
            check("reallocarray overflow", libc::reallocarray(null_mut(), black_box(count), size), null_mut());
            check("its errno", errno(), ENOMEM);
        }
        let block = black_box(libc::reallocarray(null_mut(), 10, 100)).cast::<u8>();
        ptr::write_bytes(block, 9, 1_000);
        set_errno(0);
        check("reallocarray overflow of a block", libc::reallocarray(block.cast(), 1 << 40, 1 << 40), null_mut());
        check("leaves it", *block.add(999), 9);
        let block = black_box(libc::reallocarray(block.cast(), 20, 100)).cast::<u8>();
        check("reallocarray grows", *block.add(999), 9);
        free(block.cast());
        for size in [HUGE, isize::MAX as usize, usize::MAX] {
            set_errno(0);
            check("malloc of too much", black_box(malloc(black_box(size))), null_mut());
            check("its errno", errno(), ENOMEM);
        }
    }
}

fn posix_memalign() {
    let untouched = ptr::dangling_mut::<c_void>();
    let call = |alignment: usize, size: usize| {
        let mut result = untouched;
        set_errno(77);
        // SAFETY: `result` is valid for writing.
        let code = unsafe { libc::posix_memalign(&mut result, alignment, size) };
        (code, errno(), result)
    };
    for alignment in [0, 1, 2, 4, 24, 40, 100, usize::MAX] {
        check(&format!("posix_memalign to {alignment}"), call(alignment, 64), (EINVAL, 77, untouched));
    }
    for size in [1 << 47, HUGE, isize::MAX as usize, usize::MAX] {
        check(&format!("posix_memalign of {size}"), call(64, size), (ENOMEM, 77, untouched));
        check(&format!("posix_memalign to a page of {size}"), call(4096, size), (ENOMEM, 77, untouched));
    }
    for size in [0, 1, 8, 100, 100_000] {
        let (code, errno, block) = call(64, size);
        check(&format!("posix_memalign of {size}"), (code, errno, aligned_to(block, 64)), (0, 77, true));
        // SAFETY: the block is live.
        unsafe { free(block) };
    }
}

fn aligned() {
    // SAFETY: each block is live until its one free.
    unsafe {
        for shift in 4..=30 {
            let alignment = 1 << shift;
            let mut block = null_mut();
            let code = libc::posix_memalign(&mut block, alignment, 100);
            check(&format!("posix_memalign to 1 << {shift}"), (code, aligned_to(block, alignment)), (0, true));
            block.cast::<u8>().write(1);
            if !is_off() {
                let requested = alloc_tracker::hooks::size_of(block.cast()).map(|size| size.requested);
                check(&format!("its size (1 << {shift})"), requested, Some(100));
            }
            free(block);
            let block = black_box(libc::memalign(alignment, alignment + 1));
            check(&format!("memalign to 1 << {shift}"), aligned_to(block, alignment), true);
            free(block);
        }
        // 100 is no multiple of 64.
        let block = black_box(libc::aligned_alloc(64, 100));
        check("aligned_alloc of no multiple", aligned_to(block, 64), true);
        free(block);
        set_errno(0);
        check("aligned_alloc to 24", libc::aligned_alloc(24, 100), null_mut());
        check("its errno", errno(), EINVAL);
        set_errno(0);
        check("aligned_alloc of too much", libc::aligned_alloc(64, black_box(HUGE)), null_mut());
        check("its errno", errno(), ENOMEM);
        // glibc rounds 24 up to 32, and 0 to the least.
        let block = black_box(libc::memalign(24, 100));
        check("memalign to 24", aligned_to(block, 32), true);
        free(block);
        let block = black_box(libc::memalign(0, 100));
        check("memalign to 0", aligned_to(block, 8), true);
        free(block);
        set_errno(0);
        check("memalign to too much", libc::memalign(usize::MAX / 2 + 2, 1), null_mut());
        check("its errno", errno(), EINVAL);
        for size in [0, 1, 4096, 5000] {
            let block = black_box(valloc(size));
            check(&format!("valloc({size})"), aligned_to(block, 4096), true);
            free(block);
        }
        for (size, usable) in [(1, 4096), (4096, 4096), (4097, 8192)] {
            let block = black_box(pvalloc(size));
            check(&format!("pvalloc({size})"), aligned_to(block, 4096), true);
            check_that("is whole pages", malloc_usable_size(block) >= usable, malloc_usable_size(block));
            cfree(block);
        }
        set_errno(0);
        check("pvalloc of too much", pvalloc(black_box(usize::MAX)), null_mut());
        check("its errno", errno(), ENOMEM);
    }
}

/// Every byte of the usable size may be written, and a realloc within it keeps them all.
fn usable_to_the_end() {
    let mut random = Random(11);
    let mut right = true;
    // SAFETY: each block is live until its one free, and is written within its usable size only.
    unsafe {
        for round in 0..2_000 {
            let size = 1 + random.below(if round % 10 == 0 { 200_000 } else { 3_000 }) as usize;
            let block = if round % 3 == 0 { libc::memalign(64, size) } else { malloc(size) }.cast::<u8>();
            let usable = malloc_usable_size(block.cast());
            right &= usable >= size;
            ptr::write_bytes(block, round as u8, usable);
            let block = black_box(realloc(block.cast(), usable + 1)).cast::<u8>();
            right &= std::slice::from_raw_parts(block, usable).iter().all(|&byte| byte == round as u8);
            right &= malloc_usable_size(block.cast()) > usable;
            free(block.cast());
        }
    }
    check("usable sizes are writable to the end", right, true);
}

/// C23's functions that free a block and are told its size.
fn sized_frees() {
    // SAFETY: each block is live until its one free, which is told what was asked for.
    unsafe {
        for size in [0, 1, 16, 17, 5_000, 20_000, 5 << 20] {
            free_sized(black_box(malloc(size)), size);
            free_sized(black_box(calloc(1, size)), size);
            free_aligned_sized(black_box(libc::aligned_alloc(256, size)), 256, size);
            cfree(black_box(malloc(size)));
        }
        free_sized(null_mut(), 0);
        free_aligned_sized(null_mut(), 64, 0);
    }
    println!("ok free_sized, free_aligned_sized, cfree");
}

/// What libc's own functions allocate is freed by `free`.
fn library_results() {
    // SAFETY: the strings are C strings, the results are valid for writing, and each block is freed once.
    unsafe {
        let copy = black_box(libc::strdup(c"a string".as_ptr()));
        check("strdup", CStr::from_ptr(copy), c"a string");
        check("strdup is ours", is_off() || alloc_tracker::hooks::is_tracked(copy.cast()), true);
        free(copy.cast());
        let mut text = null_mut();
        check("asprintf", asprintf(&mut text, c"%d-%s".as_ptr(), 42, c"x".as_ptr()), 4);
        check("asprintf's text", CStr::from_ptr(text), c"42-x");
        check("asprintf is ours", is_off() || alloc_tracker::hooks::is_tracked(text.cast()), true);
        free(text.cast());
        let mut pipe = [0; 2];
        check("pipe", libc::pipe(pipe.as_mut_ptr()), 0);
        let line = [b'x'; 5_000];
        libc::write(pipe[1], line.as_ptr().cast(), line.len());
        libc::write(pipe[1], c"\n".as_ptr().cast(), 1);
        let (mut text, mut room) = (null_mut(), 0);
        let stream = libc::fdopen(pipe[0], c"r".as_ptr());
        check("getline", libc::getline(&mut text, &mut room, stream), 5_001);
        check("getline is ours", is_off() || alloc_tracker::hooks::is_tracked(text.cast()), true);
        libc::fclose(stream);
        libc::close(pipe[1]);
        free(text.cast());
        let path = black_box(libc::realpath(c"/proc/self/../.".as_ptr(), null_mut()));
        check("realpath", CStr::from_ptr(path), c"/proc");
        free(path.cast());
    }
}
