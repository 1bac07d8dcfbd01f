//! The recorder: reads the events in order, has them replayed, reads the probes on every tick, and writes the timeline.
//!
//! ```text
//! event ring -> state.rs (one reader at a time) -> alloc-replay -> records
//!                                                                     |
//! probes --------------------------> recording.rs, ticks.rs -----------+--> output.rs (log, timeline)
//!                                     | quiet.rs (ticks at which nothing is new), schedule.rs (what is written on some ticks only)
//!                                     | book_keeper.rs (near the peak; unexplained.rs), beyond_keeper.rs, children_keeper.rs
//!                                     | thresholds.rs, near_limit.rs -> dumps.rs (who holds most: holders.rs)
//!                                     | background.rs (work that takes longer than a tick)
//!                                     | metering.rs (time, processor time and energy by scope; by step: step_clock.rs)
//!                                     | full_table.rs (more scopes than there is room for), new_names.rs, summary.rs
//!                                     | closing.rs (the last records of a timeline)
//!                                     \ stack_names.rs, thread_names.rs (names of sampled calls and threads, at the end)
//!                                         merged_frames.rs (an interpreter's calls among those of native code), folded_sites.rs
//! thread.rs runs it, interval.rs says when the next tick comes, pace.rs how long it may sleep, spare.rs keeps memory for it; control.rs and request.rs: what others ask of it
//! ```
mod clock;
mod control;
mod counts;
mod full_table;
mod holders;
mod interval;
mod request;
mod rss_at_peak;
mod schedule;
mod spare;
mod state;
mod step_clock;
mod unexplained;

mod background;
mod near_limit;
mod new_names;
mod output;
mod pace;
mod quiet;
mod thresholds;

mod beyond_keeper;
mod book_keeper;
mod children_keeper;
mod closing;
#[cfg(feature = "stacks")]
mod debug_information;
#[cfg(feature = "stacks")]
mod folded_sites;
#[cfg(feature = "stacks")]
mod merged_frames;
mod metering;
#[cfg(feature = "stacks")]
mod stack_names;
#[cfg(feature = "stacks")]
mod thread_names;

mod sampled_stacks;
mod summary;

mod recording;

mod dumps;
mod ticks;

mod thread;

pub use control::{Control, say_refused};
pub use interval::Interval;
pub use output::{Finished, Output};
pub use request::{Request, ask, is_recorded};
pub use state::{hold_reading, read_what_was_left, release_reading};
pub use step_clock::StepClock;
pub use thread::{Handle, Plan, Recorder};
pub use thresholds::{Approach, Callback, Expected, PeakAction, Thresholds};
