//! The Rust door over an allocator of the program's own.
use std::alloc::{GlobalAlloc, Layout};

use alloc_replay::BlockSize;

use super::tagged::TaggedBlock;
use super::{count, resize};
use crate::backend;
use crate::settings::{Mode, mode};

/// The tracking allocator over any other allocator. It is for programs whose allocations all come from Rust code, and
/// which therefore do not link `alloc-interpose`.
///
/// A `GlobalAlloc` does not say how many bytes it set aside for a block, so usable bytes are the requested bytes here.
/// In a program that links `alloc-interpose` all the same, `Over` counts nothing, and no session starts.
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
    /// The tracking allocator over `inner`.
    ///
    /// ```
    /// use std::alloc::System;
    ///
    /// #[global_allocator]
    /// static ALLOC: alloc_tracker::Over<System> = alloc_tracker::Over::new(System);
    /// # fn main() {}
    /// ```
    pub const fn new(inner: A) -> Self {
        Over { inner }
    }
}

/// The layout that `inner` is asked for: whole pieces of 8 bytes, aligned to 8, because two blocks in one such piece
/// would have the same entry in the shadow map.
fn whole(layout: Layout) -> Layout {
    let bytes = layout.size().checked_next_multiple_of(8);
    // No allocator has so much memory that its size cannot be rounded up: `inner` will refuse the layout as it is.
    bytes.and_then(|bytes| Layout::from_size_align(bytes, layout.align().max(8)).ok()).unwrap_or(layout)
}

impl<A: GlobalAlloc> Over<A> {
    /// Whether blocks are tagged and counted. The answer is the same for the process's whole life.
    fn counts() -> bool {
        backend::inner::register(std::any::type_name::<A>) && mode() != Mode::Off
    }
}

/// Tags and counts a new block, unless it is null, and returns it.
fn counted(block: *mut u8, requested: usize) -> *mut u8 {
    let bytes = requested as u64;
    count::allocated_sized(block, BlockSize { usable: bytes, requested: bytes })
}

// SAFETY: every block is `inner`'s, which keeps a GlobalAlloc's promises. A block is allocated, resized and freed with
// the same layout: always `whole` of the caller's, or always the caller's own, since `counts` never changes its answer.
// No method unwinds.
unsafe impl<A: GlobalAlloc> GlobalAlloc for Over<A> {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !Self::counts() {
            // SAFETY: the caller promises a layout whose size is not 0.
            return unsafe { self.inner.alloc(layout) };
        }
        // SAFETY: the caller promises a size that is not 0; rounded up it is not 0 either.
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
            // SAFETY: the caller passes a live block of this layout.
            return unsafe { self.inner.dealloc(block, layout) };
        }
        if let Some(tagged) = TaggedBlock::find(block) {
            count::freed(&tagged);
        }
        // SAFETY: the caller passes a live block of this layout, which `inner` allocated with `whole` of it.
        unsafe { self.inner.dealloc(block, whole(layout)) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !Self::counts() {
            // SAFETY: the caller passes a live block of this layout and a size that is not 0.
            return unsafe { self.inner.realloc(block, layout, size) };
        }
        // SAFETY: the caller promises that the new size makes a layout with the old alignment.
        let wanted = whole(unsafe { Layout::from_size_align_unchecked(size, layout.align()) }).size();
        // SAFETY: the caller passes a live block of this layout, which `inner` allocated with `whole` of it; `wanted`
        // is not 0.
        let resize_block = |block| unsafe { self.inner.realloc(block, whole(layout), wanted) };
        match TaggedBlock::find(block) {
            Some(tagged) => resize::recount(&tagged, size, resize_block, |_| size),
            None => resize_block(block),
        }
    }
}
