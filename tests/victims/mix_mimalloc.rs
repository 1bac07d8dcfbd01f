//! The mix over mimalloc.
use alloc_tracker::Over;
use mimalloc::MiMalloc;

mod mix;

#[global_allocator]
static ALLOC: Over<MiMalloc> = Over::new(MiMalloc);

fn main() {
    mix::record();
}
