//! The other processes of the control group, and what they have of its memory.
use std::path::Path;
use std::time::{Duration, Instant};

use alloc_timeline::kept_file::read_text;

use super::pss::Rollup;
use crate::sys::entries;

/// No more folders of groups are looked into.
const MOST_GROUPS: usize = 1_000;

/// What the other processes have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The sum of their shares (PSS), in bytes.
    pub pss: u64,
    /// The part of it that is pages of files and shared memory.
    pub pss_files: u64,
    /// How many processes that is.
    pub read: u32,
    /// How many could not be read: those of other users, and those that are not visible here.
    pub unread: u32,
    /// For how many there was no time.
    pub late: u32,
}

/// Why a process was not read.
enum Missing {
    Unreadable,
    Late,
}

impl Neighbours {
    /// Reads the processes of the group at `folder` and of the groups below it; begins with none when `time` is over.
    /// `None` when the list of the group's processes cannot be read.
    pub fn read(folder: &Path, time: Duration) -> Option<Self> {
        let began = Instant::now();
        let rollup = |pid| match began.elapsed() < time {
            true => Rollup::read(Some(pid)).map_err(|_| Missing::Unreadable),
            false => Err(Missing::Late),
        };
        Some(sum(&processes(folder)?, std::process::id(), rollup))
    }
}

/// The ids in the lists of the group and of those below it. A process that is not visible here has the id 0.
fn processes(folder: &Path) -> Option<Vec<u32>> {
    let mut found = ids(&read_text(folder.join("cgroup.procs")).ok()?);
    let mut folders = below(folder);
    for _ in 0..MOST_GROUPS {
        let Some(next) = folders.pop() else { break };
        // A group below may have gone meanwhile, with its processes.
        let list = read_text(next.join("cgroup.procs")).unwrap_or_default();
        found.extend(ids(&list));
        folders.extend(below(&next));
    }
    Some(found)
}

fn below(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = entries(folder).unwrap_or_default();
    entries.into_iter().filter(|entry| entry.is_folder).map(|entry| folder.join(entry.name)).collect()
}

fn ids(list: &str) -> Vec<u32> {
    list.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

fn sum(processes: &[u32], own: u32, rollup: impl Fn(u32) -> Result<Rollup, Missing>) -> Neighbours {
    let mut sum = Neighbours::default();
    for &process in processes.iter().filter(|&&process| process != own) {
        match if process == 0 { Err(Missing::Unreadable) } else { rollup(process) } {
            Ok(rollup) => {
                sum.read += 1;
                sum.pss += rollup.pss;
                sum.pss_files += rollup.pss_files.unwrap_or(0);
            }
            Err(Missing::Unreadable) => sum.unread += 1,
            Err(Missing::Late) => sum.late += 1,
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_this_process_count() {
        let known = Rollup { pss: 100, pss_files: Some(30), ..Rollup::default() };
        let rollup = |pid| if pid < 10 { Ok(known) } else { Err(Missing::Unreadable) };
        // 7 is this process, 0 is hidden, and 12 belongs to somebody else.
        let expected = Neighbours { pss: 200, pss_files: 60, read: 2, unread: 2, late: 0 };
        assert_eq!(sum(&[3, 7, 0, 12, 5], 7, rollup), expected);
    }

    #[test]
    fn without_time_none_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("cgroup.procs"), "1\n").expect("a list");
        let none = Neighbours { late: 1, ..Neighbours::default() };
        assert_eq!(Neighbours::read(folder.path(), Duration::ZERO), Some(none));
    }

    #[test]
    fn groups_below_belong_to_the_group() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("a/b");
        std::fs::create_dir_all(&inner).expect("folders");
        std::fs::write(folder.path().join("cgroup.procs"), "1\n2\n").expect("a list");
        std::fs::write(inner.join("cgroup.procs"), "3\nrubbish\n").expect("a list");
        assert_eq!(processes(folder.path()), Some(vec![1, 2, 3]));
        assert_eq!(processes(&folder.path().join("gone")), None);
    }
}
