//! Where and how a run took place: the machine, the allocator, and how the recording ended.
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How the recording ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ending {
    /// `Session::finish` was called, or the session was dropped.
    Finished,
    /// The process called `exit` with the session open.
    Exit,
    /// A panic unwound through the session.
    Panic,
    /// The user asked for the end (Ctrl-C).
    Interrupted,
    /// The file was recovered from the log of a process that was killed before it wrote the file.
    Recovered,
    /// It has not ended: this is a copy of what was recorded so far, written while the process went on.
    Dumped,
}

/// The machine of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// `linux`, ...
    pub os: String,
    /// `x86_64`, `aarch64`, ...
    pub arch: String,
    /// Kernel release.
    pub kernel: String,
    /// The processor's name, as the kernel gives it.
    pub cpu: String,
    /// Processors that this process may use.
    pub cpus: u32,
    /// Bytes of a memory page.
    pub page_bytes: u64,
    /// Physical memory of the machine.
    pub memory_bytes: u64,
}

/// The allocator from which the tracker gets its memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocator {
    /// `jemalloc`, `system`, ...
    pub backend: String,
    /// Its version.
    pub version: String,
    /// Its settings in this run.
    pub config: BTreeMap<String, String>,
    /// The ways by which allocations reached the tracker.
    pub doors: Vec<Door>,
}

/// A way by which allocations reach the tracker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Door {
    /// Rust's `#[global_allocator]`.
    Rust,
    /// The C malloc family.
    C,
}

/// Which object's allocation function a shared object calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Resolution {
    /// Path of the calling shared object.
    pub object: String,
    /// `malloc`, `posix_memalign`, ...
    pub symbol: String,
    /// Path of the object whose function is called.
    pub resolved_in: String,
    /// Whether that function is the tracker's.
    pub tracked: bool,
}
