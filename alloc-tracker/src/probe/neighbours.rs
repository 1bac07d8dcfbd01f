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
    /// How many could not be read: those of other users, those that are not visible here, and those for which there was
    /// no time.
    pub unread: u32,
}

impl Neighbours {
    /// Reads the processes of the group at `folder` and of the groups below it, for about as long as `time` allows.
    /// `None` when the list of the group's processes cannot be read.
    pub fn read(folder: &Path, time: Duration) -> Option<Self> {
        let began = Instant::now();
        let rollup = |pid| Rollup::read(Some(pid)).ok().filter(|_| began.elapsed() < time);
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

fn sum(processes: &[u32], own: u32, rollup: impl Fn(u32) -> Option<Rollup>) -> Neighbours {
    let mut sum = Neighbours::default();
    for &process in processes.iter().filter(|&&process| process != own) {
        match rollup(process).filter(|_| process != 0) {
            Some(rollup) => {
                sum.read += 1;
                sum.pss += rollup.pss;
                sum.pss_files += rollup.pss_files.unwrap_or(0);
            }
            None => sum.unread += 1,
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_this_process_count() {
        let rollup = |pid| (pid < 10).then_some(Rollup { pss: 100, pss_files: Some(30), ..Rollup::default() });
        // 7 is this process, 0 is hidden, and 12 belongs to somebody else.
        let expected = Neighbours { pss: 200, pss_files: 60, read: 2, unread: 2 };
        assert_eq!(sum(&[3, 7, 0, 12, 5], 7, rollup), expected);
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
