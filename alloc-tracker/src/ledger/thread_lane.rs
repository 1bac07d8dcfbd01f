//! The calling thread's lane, as the hot path finds it.
use super::lane::Lane;
use super::thread_word::thread_word;

/// The lane of threads that have no slot, and of all threads of a process in which every block takes the cold path.
static CLOSED: Lane = Lane::closed();

thread_word!(
    /// The pointer to the lane.
    own: *const super::Lane, "alloc_tracker_lane", sym super::CLOSED, &raw const super::CLOSED
);

/// The lane of the calling thread: that of its slot, or a closed one.
#[inline(always)]
pub fn lane() -> &'static Lane {
    // SAFETY: the pointer is to CLOSED or comes from `set_lane`, which takes a reference that is valid for ever.
    unsafe { &*own::get() }
}

/// Makes `lane` the calling thread's lane.
pub fn set_lane(lane: &'static Lane) {
    own::set(lane);
}

/// Gives the calling thread the closed lane.
pub fn close_lane() {
    own::set(&raw const CLOSED);
}
