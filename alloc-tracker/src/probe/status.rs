//! The resident set, from /proc/self.
use alloc_timeline::OutsideFigure;
use alloc_timeline::kept_file::{KeptFile, read_text};
use procfs_core::FromRead;

use crate::sys::page_bytes;

/// /proc/self/statm, kept open and parsed in place: it is read on every tick, where procfs would open a file and
/// allocate.
#[derive(Debug)]
pub struct Statm(Option<KeptFile>);

impl Statm {
    /// Opens the file.
    pub fn open() -> Self {
        Statm(KeptFile::open("/proc/self/statm").ok())
    }

    /// Reads it now.
    pub fn read(&self) -> Option<Sizes> {
        let mut text = [0; 128];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        sizes(std::str::from_utf8(&text[..length]).ok()?, page_bytes() as u64)
    }
}

/// What statm says of the process (proc_pid_statm(5)), in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// All mappings, resident or not: what RLIMIT_AS limits.
    pub mapped: u64,
    /// The resident set.
    pub rss: u64,
    /// Its pages of files and shared memory.
    pub files: u64,
    /// Private writable mappings and the main thread's stack: what RLIMIT_DATA limits, and that stack.
    pub data: u64,
}

impl Sizes {
    /// The resident set less its pages of files and shared memory: anonymous pages.
    pub fn anonymous(self) -> u64 {
        self.rss.saturating_sub(self.files)
    }
}

/// The file's first, second, third and sixth number, which are pages.
fn sizes(text: &str, page_bytes: u64) -> Option<Sizes> {
    let mut numbers = text.split_ascii_whitespace().map(|number| Some(number.parse::<u64>().ok()? * page_bytes));
    let (mapped, rss, files) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let data = numbers.nth(2)??;
    Some(Sizes { mapped, rss, files, data })
}

/// The largest resident set so far, by VmHWM of /proc/self/status, in bytes. The kernel updates it from counters that it
/// keeps by core, each of which may lag behind by some pages.
fn most() -> Option<u64> {
    procfs_core::process::Status::from_read(read_text("/proc/self/status").ok()?.as_bytes())
        .ok()?
        .vmhwm
        .map(|kib| kib * 1024)
}

/// The resident set's figure for the whole run; `at_peak` is the reading (in bytes) nearest to the peak of the live
/// bytes.
pub fn figure(at_peak: Option<u64>) -> OutsideFigure {
    let most = most();
    // statm may have seen more than the kernel's maximum, which lags behind.
    let peak_bytes = most.max(at_peak);
    let source = match most {
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
        let expected = Sizes { mapped: 1834 * 4096, rss: 423 * 4096, files: 362 * 4096, data: 95 * 4096 };
        assert_eq!(sizes("1834 423 362 12 0 95 0\n", 4096), Some(expected));
        assert_eq!([sizes("", 4096), sizes("1834 423\n", 4096), sizes("1 2 3 4 5 x", 4096)], [None; 3]);
    }

    #[test]
    fn this_process_is_resident() {
        let Sizes { rss, files, .. } = Statm::open().read().expect("/proc/self/statm");
        assert!(rss > 1 << 20 && files > 0 && files < rss, "{rss} {files}");
        assert!(most().is_some_and(|bytes| bytes > 1 << 20));
    }
}
