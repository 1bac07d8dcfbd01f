//! One HTML page about one or more runs. The page is complete in itself: styles, pictures and the scripts of the flamegraphs
//! are inline, and no address outside is named. Each flamegraph has a frame of its own, so that their scripts cannot interfere.
// Each group uses only the groups above it.
mod elements;
mod flame_frame;

mod account;
mod comparison;
mod fates;
mod power;
mod stacks;
mod tables;
mod unread;

mod device;

mod run;

mod page;

pub use page::report;
