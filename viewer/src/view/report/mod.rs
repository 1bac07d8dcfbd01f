//! One HTML page about one or more runs. It needs nothing but itself: no address outside, styles, pictures and
//! flamegraph scripts inline. Each flamegraph stands in a frame of its own, so that their scripts cannot meet.
mod comparison;
mod fates;
mod page;
mod run;
mod stacks;
mod tables;

pub use page::report;
