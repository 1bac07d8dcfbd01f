//! The resident set, from /proc/self.
use std::fs::File;
use std::os::unix::fs::FileExt;

use alloc_timeline::OutsideFigure;
use procfs_core::FromRead;

use crate::sys::page_bytes;

/// /proc/self/statm, kept open and parsed in place: it is read on every tick, where procfs would open a file and
/// allocate.
#[derive(Debug)]
pub struct Statm(Option<File>);

impl Statm {
    /// Opens the file.
    pub fn open() -> Self {
        Statm(File::open("/proc/self/statm").ok())
    }

    /// Resident bytes now.
    pub fn rss(&self) -> Option<u64> {
        let mut text = [0; 128];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        resident_pages(std::str::from_utf8(&text[..length]).ok()?).map(|pages| pages * page_bytes() as u64)
    }
}

/// The second number of statm (proc_pid_statm(5)).
fn resident_pages(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// What /proc/self/status says about the resident set, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Resident {
    /// The largest resident set so far. The kernel's counters may lag behind by some pages for each core.
    pub peak: u64,
    /// Anonymous memory.
    pub anonymous: u64,
    /// Pages of files and shared memory.
    pub files: u64,
}

impl Resident {
    /// Reads the file. `None` when it cannot be read or has no such lines.
    pub fn read() -> Option<Self> {
        let status = procfs_core::process::Status::from_file("/proc/self/status").ok()?;
        let bytes = |kib: Option<u64>| kib.map(|kib| kib * 1024);
        Some(Resident {
            peak: bytes(status.vmhwm)?,
            anonymous: bytes(status.rssanon)?,
            files: bytes(status.rssfile)? + bytes(status.rssshmem)?,
        })
    }
}

/// The resident set's figure for the whole run; `at_peak` is the reading (in bytes) nearest to the peak of the live
/// bytes.
pub fn figure(at_peak: Option<u64>) -> OutsideFigure {
    let resident = Resident::read();
    // statm may have seen more than the kernel's maximum, which lags behind.
    let peak_bytes = resident.map(|resident| resident.peak).max(at_peak);
    let source = match resident {
        Some(_) => "VmHWM of /proc/self/status; at the peak: /proc/self/statm",
        None => "unavailable: /proc/self/status cannot be read",
    };
    OutsideFigure { name: "rss".to_owned(), peak_bytes, at_peak_bytes: at_peak, source: source.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_format() {
        assert_eq!(resident_pages("1834 423 362 12 0 95 0\n"), Some(423));
    }

    #[test]
    fn this_process_is_resident() {
        let resident = Resident::read().expect("/proc/self/status");
        assert!(Statm::open().rss().is_some_and(|bytes| bytes > 1 << 20));
        assert!(resident.peak > 1 << 20 && resident.anonymous > 0 && resident.files > 0, "{resident:?}");
    }
}
