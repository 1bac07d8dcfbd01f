//! The Rust door: `#[global_allocator]`.
use std::alloc::{GlobalAlloc, Layout};

use super::{backend, cold, hot, resize};

/// The tracking allocator.
///
/// ```
/// #[global_allocator]
/// static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();
///
/// fn main() {
///     let _phase = alloc_tracker::phase!("init");
///     let weights = vec![0u8; 4 << 20];
///     assert_eq!(weights.len(), 4 << 20);
/// }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Tracker;

impl Tracker {
    /// The allocator; all of them are one.
    pub const fn new() -> Self {
        Tracker
    }
}

/// jemalloc aligns a block of at most 8 bytes to 8, and every larger one to 16; glibc every block to 16.
#[inline(always)]
fn natural(layout: &Layout) -> bool {
    layout.align() <= 8 || layout.align() == 16 && layout.size() > 8
}

#[cold]
#[inline(never)]
fn aligned(layout: Layout, zeroed: bool) -> *mut u8 {
    let block = backend::aligned(layout.align(), layout.size(), zeroed);
    cold::count(block, layout.size());
    block
}

// SAFETY: blocks come from the backend with the layout's size and at least its alignment, stay where they are until freed
// or resized through this same allocator, and are freed once; no method unwinds.
unsafe impl GlobalAlloc for Tracker {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if natural(&layout) {
            return hot::allocate::<true>(layout.size());
        }
        aligned(layout, false)
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if natural(&layout) {
            return hot::allocate_zeroed::<true>(1, layout.size());
        }
        aligned(layout, true)
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller gives back a live block of this allocator, with the layout that it was allocated with.
        unsafe { hot::release_sized(block, layout.size()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let plain = natural(&layout) && (layout.align() <= 8 || size > 8);
        // SAFETY: the caller gives a live block of this allocator and a size that is not 0.
        unsafe {
            match plain.then(|| resize::resize_small::<true>(block, size)).flatten() {
                Some(resized) => resized,
                None => resize::resize(block, if plain { 0 } else { layout.align() }, size),
            }
        }
    }
}
