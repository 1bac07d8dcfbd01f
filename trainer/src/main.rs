//! The `trainer` binary: installs the tracker for the whole process, then calls the library.
use std::process::ExitCode;

// Naming this crate is what sends the C malloc family of every library in the process to the tracker.
use alloc_interpose as _;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

fn main() -> ExitCode {
    trainer::main()
}
