//! The JSON workload over plain jemalloc in the tracker's configuration.
use alloc_tracker as _; // its settings of jemalloc, not its allocator

#[global_allocator]
static ALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

mod json;
mod stopwatch;

fn main() {
    json::run(std::env::args().skip(1));
}
