//! The JSON workload over the C library's malloc.
#[global_allocator]
static ALLOC: std::alloc::System = std::alloc::System;

mod json;
mod stopwatch;

fn main() {
    json::run(std::env::args().skip(1));
}
