//! The Rust door over an allocator of the program's own choice.
use std::alloc::{GlobalAlloc, Layout};

use super::{backend, cold, resize};
use crate::mode::{Mode, mode};

/// The tracking allocator over any other: for programs whose allocations are all Rust's, which leave `alloc-interpose` out.
///
/// A `GlobalAlloc` does not tell how much it set aside for a block: usable bytes are the requested ones here. Where
/// `alloc-interpose` is linked all the same nothing is counted here, and no session starts.
///
/// ```
/// use std::alloc::System; // or mimalloc::MiMalloc, or your own
///
/// #[global_allocator]
/// static ALLOC: alloc_tracker::Over<System> = alloc_tracker::Over::new(System);
///
/// fn main() {
///     let _phase = alloc_tracker::phase!("init");
///     let weights = vec![0u8; 4 << 20];
///     assert_eq!(weights.len(), 4 << 20);
/// }
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Over<A> {
    inner: A,
}

impl<A> Over<A> {
    /// The tracker over `inner`.
    pub const fn new(inner: A) -> Self {
        Over { inner }
    }
}

/// What `inner` is asked for: whole granules of 8 bytes, since the shadow map knows no two blocks in one.
fn whole(layout: Layout) -> Layout {
    let bytes = layout.size().checked_next_multiple_of(8);
    // A size that cannot be rounded cannot be had either.
    bytes.and_then(|bytes| Layout::from_size_align(bytes, layout.align().max(8)).ok()).unwrap_or(layout)
}

impl<A: GlobalAlloc> Over<A> {
    /// Whether blocks are tagged and counted; the answer is the same for the process's whole life.
    fn counts() -> bool {
        backend::use_over(std::any::type_name::<A>) && mode() != Mode::Off
    }
}

fn counted(block: *mut u8, requested: usize) -> *mut u8 {
    cold::count_new(block, [requested; 2]);
    block
}

// SAFETY: blocks are `inner`'s, made, resized and freed with the same layout each time (`whole` of the caller's, or that
// itself where nothing is counted); `inner` keeps a GlobalAlloc's promises; no method unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Over<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !Self::counts() {
            // SAFETY: the caller's promise, passed on.
            return unsafe { self.inner.alloc(layout) };
        }
        // SAFETY: the same: a size that is not 0 stays so when it is rounded.
        counted(unsafe { self.inner.alloc(whole(layout)) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !Self::counts() {
            // SAFETY: as for `alloc`.
            return unsafe { self.inner.alloc_zeroed(layout) };
        }
        // SAFETY: as for `alloc`.
        counted(unsafe { self.inner.alloc_zeroed(whole(layout)) }, layout.size())
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !Self::counts() {
            // SAFETY: the caller gives back a live block of this layout.
            return unsafe { self.inner.dealloc(block, layout) };
        }
        cold::uncount(block);
        // SAFETY: the same, and `inner` made it with `whole` of the layout.
        unsafe { self.inner.dealloc(block, whole(layout)) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !Self::counts() {
            // SAFETY: the caller gives a live block of this layout and a size that is not 0.
            return unsafe { self.inner.realloc(block, layout, size) };
        }
        // SAFETY: the caller promises that the new size makes a layout with the old alignment.
        let wanted = whole(unsafe { Layout::from_size_align_unchecked(size, layout.align()) }).size();
        // SAFETY: the block is live, and `inner` made it with `whole` of the layout.
        let really = |block| unsafe { self.inner.realloc(block, whole(layout), wanted) };
        match cold::find(block) {
            Some(tagged) => resize::recount(block, tagged, size, really, |_| size),
            None => really(block),
        }
    }
}
