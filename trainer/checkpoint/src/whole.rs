//! The schedule that computes nothing again: all stages forward, all saved, all backward.
use crate::schedule::Schedule;

/// For a chain of so many stages, the loss included.
///
/// # Panics
/// When there is no stage.
pub fn whole(stages: usize) -> Schedule {
    assert!(stages > 0, "a chain has a loss at least");
    let mut schedule = Schedule::default();
    schedule.save_and_reverse(0..stages);
    schedule
}
