//! The traps that other profilers fell into (`victims/c_*.rs`, `victims/trap_*.rs`), each run without a session, with
//! one, with every block in order, over the C library's allocator, and with the tracker switched off. A trap prints `ok` or `FAIL` for each of its checks; here it must end in
//! time, as it should, without a FAIL, and with a timeline that is right.
mod compiled;
mod counts;
mod run;

mod c_family;
mod clock;
mod disks;
mod endings;
mod killed;
mod libraries;
mod processes;
mod scopes;
mod signals;
mod stacks;
mod stress;
mod threads;
