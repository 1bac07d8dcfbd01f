//! `stats_alloc` over the system's allocator.
use std::alloc::System;

#[global_allocator]
static ALLOC: &stats_alloc::StatsAlloc<System> = &stats_alloc::INSTRUMENTED_SYSTEM;

fn main() {
    peers::main();
}
