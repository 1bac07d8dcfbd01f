//! The `dhat` crate over the system's allocator, with a profiler running.
#[global_allocator]
static ALLOC: dhat::Alloc = dhat::Alloc;

fn main() {
    let _profiler = dhat::Profiler::new_heap();
    peers::main();
}
