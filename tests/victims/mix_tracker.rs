//! The mix over jemalloc, or over the C library's allocator where the environment says so.
mod mix;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

fn main() {
    mix::record();
}
