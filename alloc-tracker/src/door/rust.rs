//! The Rust door: the tracker as a program's `#[global_allocator]`.
use std::alloc::{GlobalAlloc, Layout};
use std::ptr;

use super::{cold, hot, hot_free, resize};
use crate::ledger;

/// The tracking allocator, over jemalloc or the C library's allocator (`ALLOC_TRACKER_BACKEND`). Declare one as the
/// program's global allocator; then every allocation of Rust code is tracked:
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
    /// The tracking allocator. All values of this type are the same allocator.
    ///
    /// ```
    /// #[global_allocator]
    /// static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();
    /// # fn main() {}
    /// ```
    pub const fn new() -> Self {
        Tracker
    }
}

/// Whether the backend's natural alignment is enough for a layout. jemalloc aligns a block of at most 8 bytes to 8, and
/// every larger one to 16; glibc aligns every block to 16.
#[inline(always)]
fn natural(layout: &Layout) -> bool {
    layout.align() <= 8 || layout.align() == 16 && layout.size() > 8
}

// SAFETY: blocks come from the backend with the layout's size and at least its alignment, stay where they are until
// freed or resized through this same allocator, and are freed once; no method unwinds.
unsafe impl GlobalAlloc for Tracker {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if natural(&layout) {
            return hot::allocate_sized(layout.size());
        }
        // SAFETY: a layout's alignment is a power of two.
        unsafe { cold::allocate_aligned(layout.align(), layout.size(), false) }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if natural(&layout) {
            return hot::allocate_zeroed::<true>(1, layout.size());
        }
        // SAFETY: a layout's alignment is a power of two.
        unsafe { cold::allocate_aligned(layout.align(), layout.size(), true) }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller gives back a live block of this allocator, with the layout that it was allocated with.
        unsafe { hot_free::release_sized(block, layout.size()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let plain = natural(&layout) && (layout.align() <= 8 || size > 8);
        // SAFETY: the caller passes a live block of this allocator and a size that is not 0.
        unsafe {
            let resized = match plain.then(|| resize::resize_small::<true>(block, size)).flatten() {
                Some(resized) => resized,
                None => resize::resize(block, if plain { 0 } else { layout.align() }, size),
            };
            if resized.is_null() { self.move_to_spare(block, layout, size) } else { resized }
        }
    }
}

impl Tracker {
    /// Moves a block that could not be resized into a larger one, if it is the tracker's own: such a one may take
    /// [spare memory](super::count::or_spare).
    ///
    /// # Safety
    /// As for [`GlobalAlloc::realloc`].
    #[cold]
    unsafe fn move_to_spare(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !ledger::is_tracker() {
            return ptr::null_mut();
        }
        // SAFETY: the caller promises that the size is not 0 and, rounded up to the alignment, does not overflow. The two blocks are
        // live and apart; the first has the bytes of its layout, the other `size`.
        unsafe {
            let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                block.copy_to_nonoverlapping(moved, size.min(layout.size()));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}
