//! jemalloc with its own sampling profiler, which `_RJEM_MALLOC_CONF=prof:true` starts; otherwise as the tracker sets
//! it.
use alloc_tracker as _; // its settings of jemalloc, not its allocator

#[global_allocator]
static ALLOC: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() {
    peers::main();
}
