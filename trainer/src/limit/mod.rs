//! A limit of memory around a command: a control group of version 2 or 1 or, where neither can be made, the size of the
//! address space.
//!
//! ```text
//! /proc/self/cgroup, mountinfo -> place -> group (made, joined, read, removed) -> counters
//!                                               \-> command (started inside, watched, its status)
//! ```
//!
//! A control group counts what its processes touch: anonymous memory, the page cache of files that they read first, and
//! kernel memory. RLIMIT_AS counts what they map, touched or not, and each process by itself.
mod counters;

mod group;

mod command;

use alloc_timeline::size;

pub(crate) use self::command::{Ran, Stdout, run};
pub(crate) use self::counters::Counters;
pub(crate) use self::group::Holder;

/// How much memory a command may have, in bytes; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit(pub Option<u64>);

impl Limit {
    /// Reads `512M`, `1.5GiB` or `none`.
    pub(crate) fn parse(text: &str) -> Result<Limit, String> {
        if text.eq_ignore_ascii_case("none") {
            return Ok(Limit(None));
        }
        match size::parse(text) {
            Ok(0) => Err("no program runs in no memory; give more, or none for no limit".to_owned()),
            Ok(bytes) => Ok(Limit(Some(bytes))),
            Err(error) => Err(format!("{error}; or none for no limit")),
        }
    }
}

/// What enforces a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Means {
    /// The first of the others that works here.
    Auto,
    /// A control group of version 2.
    CgroupV2,
    /// A control group of version 1.
    CgroupV1,
    /// RLIMIT_AS: the size of each process's address space, not memory.
    AddressSpace,
}
