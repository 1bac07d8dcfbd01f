//! What the run used of the machine's processors, in all and by scope.
use serde::{Deserialize, Serialize};

/// What the run used of the processors while the session lasted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Utilisation {
    /// How long the figures were counted for.
    pub duration_ns: u64,
    /// The process as a whole. Absent when the kernel does not tell.
    pub process: Option<ProcessUsage>,
    /// How busy each core of the machine was, by whatever process.
    pub cores: Vec<CoreUsage>,
    /// The process's threads, the busiest first.
    pub threads: Vec<ThreadUsage>,
    /// How many intervals were split among scopes; 0 when the session was not asked for times.
    pub intervals: u64,
    /// Times by scope, in the order of the scopes' numbers. The scope without names has the time in which no thread was in a
    /// scope. Empty when the session was not asked for times.
    pub scopes: Vec<ScopeTime>,
    /// A sentence for each figure that could not be read.
    pub unavailable: Vec<String>,
}

/// What all threads of the process used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessUsage {
    /// Processor time in the program.
    pub user_ns: u64,
    /// Processor time in the kernel.
    pub system_ns: u64,
    /// Pages that only had to be mapped at their first touch.
    pub minor_faults: u64,
    /// Pages that had to be read from a disk.
    pub major_faults: u64,
    /// How often a thread gave its processor away, to wait.
    pub voluntary_switches: u64,
    /// How often the kernel took a thread's processor away.
    pub involuntary_switches: u64,
}

/// How busy a core was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreUsage {
    /// The kernel's number of the core.
    pub core: u32,
    /// Thousandths of the time in which it worked.
    pub busy_permille: u64,
}

/// What a thread used. The kernel counts it in ticks, of usually 10 ms.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadUsage {
    /// The kernel's number of the thread; 0 for the sum of all that are not listed.
    pub id: u32,
    /// Its name.
    pub name: String,
    /// Processor time in the program.
    pub user_ns: u64,
    /// Processor time in the kernel.
    pub system_ns: u64,
}

/// The times of one scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeTime {
    /// Index into [`Timeline::scopes`](crate::Timeline::scopes).
    pub scope: u32,
    /// How long it was active, summed over threads. Exact: read from the clock whenever a thread came or left.
    pub active_ns: u64,
    /// Processor time of the threads that were in the scope, while they were. Exact as well. Absent when the session was
    /// not asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// The scope's part of the whole process's processor time: that of each interval split by `active_ns`.
    pub process_cpu_ns: u64,
    /// What a profiler would say that looks at each end of an interval which scope is active, and takes it for that of
    /// the whole interval.
    pub sampled_ns: u64,
}
