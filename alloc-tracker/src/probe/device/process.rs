//! Which of the processes on a device is this one. NVML tells numbers of the machine's PID namespace, and a process in a
//! container has another number there, which it cannot see.
use super::inputs::{DriverInputs, GpuProcess};

/// This process's bytes, with a remark on how it was found; and those of the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// This process's bytes.
    pub own: u64,
    /// How it was found, where not by its number.
    pub remark: String,
    /// The bytes of all others, or why they are not known.
    pub others: Result<u64, String>,
}

/// Finds this process. `uses_device`: its allocator has memory there, so it must be one of them.
///
/// # Errors
/// A sentence on why it cannot be told.
pub fn share(driver: &DriverInputs, uses_device: bool) -> Result<Share, String> {
    let processes = driver.processes.as_ref().map_err(Clone::clone)?;
    let by_number = processes.iter().position(|process| driver.own_pids.contains(&process.pid));
    let (own, remark) = match (by_number, processes.as_slice()) {
        (Some(index), _) => (index, String::new()),
        (None, []) if uses_device => {
            let hidden = "NVML lists no process on this device, although this one uses it: it hides processes of other PID \
                          namespaces (a container without --pid=host)";
            return Err(hidden.to_owned());
        }
        (None, [GpuProcess { pid, is_visible: false, .. }]) if uses_device => {
            (0, format!("; taken to be process {pid} of another PID namespace, the only one on the device"))
        }
        (None, _) if !uses_device => {
            let others = sum(processes.iter());
            return Ok(Share { own: 0, remark: "; NVML does not list it there".to_owned(), others });
        }
        (None, several) => {
            return Err(format!(
                "NVML lists {} processes on this device by their numbers in another PID namespace, and which of them is \
                 this one cannot be told (a container without --pid=host)",
                several.len()
            ));
        }
    };
    let bytes = processes[own].bytes.ok_or(
        "the driver does not count memory by process here (as on Windows with WDDM, or in some virtual machines)",
    )?;
    let others = processes.iter().enumerate().filter(|(index, _)| *index != own).map(|(_, process)| process);
    Ok(Share { own: bytes, remark, others: sum(others) })
}

fn sum<'a>(mut processes: impl Iterator<Item = &'a GpuProcess>) -> Result<u64, String> {
    let sum = processes.try_fold(0_u64, |sum, process| Some(sum.saturating_add(process.bytes?)));
    sum.ok_or_else(|| "the driver does not count the memory of each of them".to_owned())
}

/// The numbers of a process in its PID namespaces, from the text of /proc/PID/status: the reader's namespace first.
pub fn namespace_pids(status: &str) -> Vec<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    line.map_or_else(Vec::new, |line| line.split_whitespace().filter_map(|pid| pid.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_a_number_in_each_of_its_namespaces() {
        assert_eq!(namespace_pids("Name:\ttrainer\nPid:\t7\nNSpid:\t4711\t7\n"), [4711, 7]);
        assert_eq!(namespace_pids("Name:\ttrainer\n"), [0; 0], "kernels before 4.1 do not tell");
    }
}
