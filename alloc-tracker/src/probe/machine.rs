//! The machine, for the head of the file.
use alloc_timeline::Machine;

use super::status::{kib_field, page_bytes};

/// What can be said of this machine.
pub fn machine() -> Machine {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let cpu = read("/proc/cpuinfo")
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(':').map(|(_, name)| name.trim().to_owned()))
        .unwrap_or_default();
    Machine {
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        cpu,
        cpus: std::thread::available_parallelism().map_or(0, |count| count.get() as u32),
        page_bytes: page_bytes(),
        memory_bytes: kib_field(&read("/proc/meminfo"), "MemTotal").unwrap_or_default(),
    }
}
