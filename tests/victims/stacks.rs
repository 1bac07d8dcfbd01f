//! Allocations whose calls are known: `tests/stacks.rs` says what must be found of each. The first argument is the
//! timeline's path, the second a library of compiled C++ that is loaded, allocates, and is gone before the end; `-` for
//! none. With a third, `abort`, it leaves a copy of the timeline so far, and does not reach its end.
//!
//! Everything is of one thread and the same in every run.
use std::ffi::CString;
use std::hint::black_box;

use alloc_interpose as _;
use alloc_tracker::{Session, phase};

mod trap_kit;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const KIB: usize = 1 << 10;

/// Lives until the end: 40,000 blocks of 100 bytes (112 usable), 4.48 MB.
#[inline(never)]
fn small_and_kept(kept: &mut Vec<Box<[u8]>>) {
    kept.extend((0..40_000).map(|_| black_box(vec![1u8; 100]).into_boxed_slice()));
}

/// 20,000 blocks of 1 KiB, of which one at a time lives.
#[inline(never)]
fn made_and_freed() {
    for _ in 0..20_000 {
        black_box(inlined_maker(KIB));
    }
}

/// A function that is always inlined, so that only debug information has its name.
#[inline(always)]
fn inlined_maker(bytes: usize) -> Vec<u8> {
    black_box(Vec::with_capacity(bytes))
}

/// At the peak and not after it: 64 blocks of 256 KiB.
#[inline(never)]
fn at_the_peak() {
    let blocks: Vec<Vec<u8>> = (0..64).map(|_| black_box(Vec::with_capacity(256 * KIB))).collect();
    black_box(&blocks);
}

/// A list that grows by realloc to 8 MiB, and is cut down to 1.
#[inline(never)]
fn grown_and_cut() -> Vec<u8> {
    let mut list: Vec<u8> = Vec::with_capacity(16);
    for size in 5..=23 {
        list.reserve_exact((1 << size) - list.len());
        black_box(&mut list);
    }
    list.shrink_to(KIB * KIB);
    list
}

/// Blocks that are made with so many bytes, and then grow by realloc. They live until the end.
#[inline(never)]
fn made_and_grown(kept: &mut Vec<Vec<u8>>, blocks: usize, [made, grown]: [usize; 2]) {
    kept.extend((0..blocks).map(|_| {
        let mut block = black_box(vec![1u8; made]);
        block.reserve_exact(grown - made);
        black_box(block)
    }));
}

/// Many more calls than a sample keeps; the innermost allocates 64 blocks of 64 KiB.
#[inline(never)]
fn deep(left: usize, kept: &mut Vec<Vec<u8>>) {
    if left == 0 {
        kept.extend((0..64).map(|_| Vec::with_capacity(64 * KIB)));
    } else {
        deep(left - 1, kept);
    }
    black_box(kept);
}

/// Lets C++ of a library allocate for twenty ticks of the recorder, and unloads it.
#[inline(never)]
fn library(path: &str) {
    let path = CString::new(path).expect("a path");
    // SAFETY: the library's constructors do nothing.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    assert!(!library.is_null(), "the library");
    // SAFETY: the name ends with a zero.
    let work = unsafe { libc::dlsym(library, c"work".as_ptr()) };
    assert!(!work.is_null(), "its function");
    // SAFETY: the library has this function, which takes and gives nothing.
    let work: extern "C" fn() = unsafe { std::mem::transmute(work) };
    // Until the recorder has looked, calls in the library are not known.
    for _ in 0..20 {
        work();
        trap_kit::settle();
    }
    // SAFETY: nothing of the library is used any more.
    unsafe { libc::dlclose(library) };
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let session = Session::builder().output(&arguments[1]).start().expect("a session");
    let mut kept = Vec::with_capacity(40_000);
    let mut deepest = Vec::with_capacity(64);
    let mut tiny = Vec::with_capacity(60_000);
    let mut grown = Vec::with_capacity(3_000);
    {
        let _phase = phase!("small");
        small_and_kept(&mut kept);
    }
    {
        let _phase = phase!("passing");
        made_and_freed();
    }
    {
        let _phase = phase!("tiny");
        // 32 usable bytes each in the end.
        made_and_grown(&mut tiny, 60_000, [8, 24]);
    }
    {
        let _phase = phase!("grown");
        made_and_grown(&mut grown, 3_000, [96, 1_024]);
    }
    let list = {
        let _phase = phase!("list");
        grown_and_cut()
    };
    {
        let _phase = phase!("deep");
        deep(1_000, &mut deepest);
    }
    if let Some(path) = arguments.get(2).filter(|path| *path != "-") {
        let _phase = phase!("library");
        library(path);
    }
    {
        let _phase = phase!("peak");
        at_the_peak();
    }
    if arguments.get(3).is_some_and(|how| how == "abort") {
        session.dump().expect("a copy");
        std::process::abort();
    }
    session.finish().expect("the timeline");
    drop((kept, deepest, tiny, grown, list));
}
