//! A trace (see `trace.rs`) over the C library's allocator, to be run under valgrind's DHAT. The first argument, a
//! timeline's path, is there to have the same arguments as `oracle_tracked.rs`.
mod trace;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let [_, _path, name, seed] = &args[..] else { panic!("a path, a trace and a seed") };
    trace::run(name, seed.parse().expect("a number"));
}
