//! The same as `oracle_plain.rs`, tracked and recorded.
use alloc_interpose as _;
use alloc_tracker::Session;

mod trace;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, path, name, seed] = &args[..] else { panic!("a path, a trace and a seed") };
    let session = Session::builder().output(path).start().expect("a session");
    trace::run(name, seed.parse().expect("a number"));
    session.finish().expect("the timeline");
}
