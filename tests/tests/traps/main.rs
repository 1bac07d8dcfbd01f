//! Traps: situations in which other profilers fail (`victims/c_*.rs`, `victims/trap_*.rs`). Each runs without a
//! session, with one, in exact mode, over the C library's allocator, and with the tracker switched off. A trap prints
//! `ok` or `FAIL` for each of its checks. It must end in time, with the expected exit code, without a FAIL, and with a
//! correct timeline.
mod compiled;
mod counts;
mod run;

mod c_family;
mod clock;
mod descriptors;
mod disks;
mod endings;
mod killed;
mod libraries;
mod processes;
mod refused;
mod scopes;
mod signals;
mod stacks;
mod stress;
mod threads;
