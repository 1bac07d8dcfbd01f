//! Shares of resident pages: PSS counts a page that n processes map as one nth (proc_pid_smaps(5), smaps_rollup).
use alloc_timeline::kept_file::read_text;
use procfs_core::FromBufRead;
use procfs_core::process::SmapsRollup;

/// The sums over all mappings of one process, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rollup {
    /// Its share of all pages.
    pub pss: u64,
    /// The part of `pss` that is pages of files and shared memory. Linux tells it since 5.4.
    pub pss_files: Option<u64>,
    /// Pages that it alone maps.
    pub private: u64,
    /// Pages that others map as well, in full.
    pub shared: u64,
}

impl Rollup {
    /// Reads the process `pid`, or this one where it is `None`. The kernel walks all of the process's pages for it,
    /// which takes some ten milliseconds a gigabyte.
    ///
    /// # Errors
    /// The reason, as a part of a sentence: the process is gone or another user's, or the kernel is older than 4.14.
    pub fn read(pid: Option<u32>) -> Result<Self, String> {
        let process = pid.map_or("self".to_owned(), |pid| pid.to_string());
        let path = format!("/proc/{process}/smaps_rollup");
        let text = read_text(&path).map_err(|error| format!("{path}: {error}"))?;
        Self::parse(&text).ok_or_else(|| format!("{path} cannot be understood"))
    }

    /// What the text says.
    pub fn parse(text: &str) -> Option<Self> {
        let rollup = SmapsRollup::from_buf_read(text.as_bytes()).ok()?;
        let all = &rollup.memory_map_rollup.iter().next()?.extension.map;
        let of = |name: &str| all.get(name).copied();
        Some(Rollup {
            pss: of("Pss")?,
            pss_files: of("Pss_File").zip(of("Pss_Shmem")).map(|(file, shared)| file + shared),
            private: of("Private_Clean")? + of("Private_Dirty")?,
            shared: of("Shared_Clean")? + of("Shared_Dirty")?,
        })
    }

    /// By how much sharing makes the PSS smaller than the resident set: what other processes are charged for. Not
    /// positive.
    pub fn charged_to_others(&self) -> i64 {
        self.pss as i64 - self.private as i64 - self.shared as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 148 KiB are private, 1,612 KiB are shared, and of these 264 - 148 = 116 KiB are this process's share.
    #[test]
    fn the_kernels_format() {
        let text = include_str!("../../../fixtures/cgroup/smaps_rollup");
        let rollup = Rollup::parse(text).expect("a rollup");
        let expected = Rollup { pss: 264 << 10, pss_files: Some(152 << 10), private: 148 << 10, shared: 1_612 << 10 };
        assert_eq!(rollup, expected);
        assert_eq!(rollup.charged_to_others(), (116 - 1_612) << 10);
    }

    #[test]
    fn what_is_no_rollup_says_nothing() {
        assert_eq!([Rollup::parse(""), Rollup::parse("Pss: 3 kB\n"), Rollup::parse("x")], [None; 3]);
        let reason = Rollup::read(Some(u32::MAX)).expect_err("no such process");
        assert!(reason.starts_with("/proc/4294967295/smaps_rollup: "), "{reason}");
    }

    #[test]
    fn this_process_shares_pages() {
        let rollup = Rollup::read(None).expect("/proc/self/smaps_rollup");
        assert!(rollup.pss >= rollup.private && rollup.charged_to_others() <= 0, "{rollup:?}");
    }
}
