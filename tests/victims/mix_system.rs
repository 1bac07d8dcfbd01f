//! The mix over the C library's malloc, which tools that put another malloc in its place can watch.
use std::alloc::System;

use alloc_tracker::Over;

mod mix;

#[global_allocator]
static ALLOC: Over<System> = Over::new(System);

fn main() {
    mix::record();
}
