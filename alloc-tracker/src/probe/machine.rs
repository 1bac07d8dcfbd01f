//! The machine, for the head of the file.
use alloc_timeline::Machine;
use procfs_core::{CpuInfo, FromRead, Meminfo};

use crate::sys::page_bytes;

/// The machine's properties. What cannot be found out is empty or 0.
pub fn machine() -> Machine {
    let cpu = CpuInfo::from_file("/proc/cpuinfo").ok();
    let memory = Meminfo::from_file("/proc/meminfo").ok();
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Machine {
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        kernel: kernel.trim().to_owned(),
        cpu: cpu.as_ref().and_then(|cpu| cpu.model_name(0)).unwrap_or_default().to_owned(),
        cpus: std::thread::available_parallelism().map_or(0, |count| count.get() as u32),
        page_bytes: page_bytes() as u64,
        memory_bytes: memory.map_or(0, |memory| memory.mem_total),
    }
}
