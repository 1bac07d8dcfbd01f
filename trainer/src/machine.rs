//! The machine that numbers are of, as far as it can be told.
use procfs::{CpuInfo, Current, Meminfo};
use serde::{Deserialize, Serialize};

use crate::figures::mib;

/// A machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// The processor's name.
    pub(crate) cpu: Option<String>,
    /// Processors that this process may use.
    pub(crate) cpus: u64,
    /// Physical memory.
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) kernel: Option<String>,
}

impl Machine {
    /// The one that this process runs on.
    pub(crate) fn of_this() -> Machine {
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok();
        Machine {
            cpu: CpuInfo::current().ok().and_then(|cpu| Some(cpu.model_name(0)?.to_owned())),
            cpus: std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
            memory_bytes: Meminfo::current().ok().map(|memory| memory.mem_total),
            kernel: kernel.map(|release| release.trim().to_owned()),
        }
    }

    /// In words.
    pub(crate) fn text(&self) -> String {
        let mut text = format!("{}, {} processor(s)", self.cpu.as_deref().unwrap_or("processor unknown"), self.cpus);
        if let Some(bytes) = self.memory_bytes {
            text.push_str(&format!(", {} of memory", mib(bytes)));
        }
        if let Some(kernel) = &self.kernel {
            text.push_str(&format!(", Linux {kernel}"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_not_said() {
        let known = Machine { cpu: Some("A".to_owned()), cpus: 2, memory_bytes: Some(1 << 30), kernel: None };
        assert_eq!(known.text(), "A, 2 processor(s), 1024.0 MiB of memory");
        assert_eq!(Machine { cpus: 1, ..Machine::default() }.text(), "processor unknown, 1 processor(s)");
    }
}
