//! Names and sentences that the terminal and the page have in common.
// Each group uses only the groups above it.
pub(super) mod account;
mod child_processes;
pub(super) mod device;
pub(super) mod energy;
pub(super) mod names;
mod near_limit;
pub(super) mod owners;
mod rss_over_live;
pub(super) mod self_time;
mod shared_memory;
pub(super) mod unread;
mod verdicts;

pub(super) mod time_columns;
pub(super) mod trend;

pub(super) mod stacks;

pub(super) mod facts;

pub use child_processes::child_process_sentences;
pub use near_limit::near_limit_text;
pub use rss_over_live::{RssExplained, rss_explained};
pub use shared_memory::shared_memory_sentences;
pub use trend::growth_paragraph;
pub use verdicts::verdicts;
