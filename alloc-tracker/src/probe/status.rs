//! The resident set, from /proc/self.
use std::fs::File;
use std::os::unix::fs::FileExt;

use alloc_timeline::Lane;

/// /proc/self/statm, kept open.
#[derive(Debug)]
pub struct Status {
    statm: Option<File>,
    page_bytes: u64,
}

/// Bytes of a memory page.
pub fn page_bytes() -> u64 {
    // SAFETY: sysconf only reads a number.
    unsafe { libc::sysconf(libc::_SC_PAGESIZE) as u64 }
}

impl Status {
    pub fn open() -> Self {
        Status { statm: File::open("/proc/self/statm").ok(), page_bytes: page_bytes() }
    }

    /// Resident bytes now.
    pub fn rss(&self) -> Option<u64> {
        let mut text = [0; 128];
        let length = self.statm.as_ref()?.read_at(&mut text, 0).ok()?;
        parse_statm(std::str::from_utf8(&text[..length]).ok()?).map(|pages| pages * self.page_bytes)
    }

    pub fn lane(&self, at_peak: Option<u64>) -> Lane {
        let status = std::fs::read_to_string("/proc/self/status").ok();
        // The kernel notes its maximum from counts that lag behind by some pages a core, so that statm may have seen more.
        let peak_bytes = status.as_deref().and_then(|text| kib_field(text, "VmHWM")).max(at_peak);
        let source = if status.is_some() {
            "VmHWM of /proc/self/status; at the peak: /proc/self/statm"
        } else {
            "unavailable: /proc/self/status cannot be read"
        };
        Lane { name: "rss".to_owned(), peak_bytes, at_peak_bytes: at_peak, source: source.to_owned() }
    }
}

/// Resident pages, the second number of statm (proc_pid_statm(5)).
fn parse_statm(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Bytes of a `Name:   123 kB` line.
pub fn kib_field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_formats() {
        assert_eq!(parse_statm("1834 423 362 12 0 95 0\n"), Some(423));
        assert_eq!(kib_field("VmPeak:\t    9 kB\nVmHWM:\t    1692 kB\n", "VmHWM"), Some(1692 * 1024));
        assert_eq!(kib_field("VmPeak:\t    9 kB\n", "VmHWM"), None);
    }

    #[test]
    fn this_process_is_resident() {
        assert!(Status::open().rss().is_some_and(|bytes| bytes > 1 << 20));
    }
}
