//! Names and sentences that the terminal and the page have in common.
// Each group uses only the groups above it.
pub(super) mod account;
pub(super) mod device;
pub(super) mod energy;
pub(super) mod names;
mod near_limit;
pub(super) mod owners;
mod rss_over_live;
pub(super) mod self_time;
pub(super) mod unread;
mod verdicts;

pub(super) mod time_columns;
pub(super) mod trend;

pub(super) mod stacks;

pub(super) mod facts;

pub use near_limit::near_limit_text;
pub use rss_over_live::{RssExplained, rss_explained};
pub use trend::growth_paragraph;
pub use verdicts::verdicts;
