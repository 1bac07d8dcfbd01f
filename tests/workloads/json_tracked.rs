//! The JSON workload over the tracker, both doors.
use alloc_interpose as _;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

mod json;
mod stopwatch;

fn main() {
    json::run(std::env::args().skip(1));
}
