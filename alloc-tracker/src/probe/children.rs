//! The processes that this one has started, and those that these have: how many, their resident sets, and now and then their shares
//! of pages (PSS).
//!
//! ```text
//! look     /proc/PID/task/TID/children, from this process down; /proc/PID/stat of each      as cheap as reading short files
//! shares   /proc/PID/smaps_rollup of each, and of this process                              the kernel walks all of their pages
//! ```
//!
//! A page that a forked child shares with this process is in the resident set of both, and half in the PSS of each. When either
//! writes to it, it becomes two pages: the resident sets stay what they are, both PSS grow, and the writer takes a page fault. So
//! faults say that shares may have changed, before anybody walks pages.
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use alloc_timeline::ChildProcesses;
use alloc_timeline::kept_file::read_text;
use procfs_core::FromRead;
use procfs_core::process::Stat;

use super::pss::Rollup;
use super::reading::Readings;
use super::status::Statm;
use crate::sys::{page_bytes, thread_ids_of};

/// So many reasons why a process could not be read are kept.
const MOST_REASONS: usize = 4;
/// Shares are read again when pages of one part in this of the resident sets may be shared by others than before.
const CHANGE: u64 = 16;

/// The child processes at one instant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Look(Vec<Child>);

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Child {
    pid: u32,
    /// Its resident set, in bytes.
    rss: u64,
    /// The page faults without a disk that it has taken since it began.
    faults: u64,
}

/// Whether shares are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// There are no processes.
    Never,
    /// As far as faults and resident sets tell, they are what they were, or nearly.
    WhenOld,
    /// Some may have changed.
    WhenChanged,
    /// As soon as can be: they never were read, or the resident sets or the number of faults have doubled.
    Soon,
}

impl Look {
    /// Looks now.
    ///
    /// # Errors
    /// A sentence on why child processes cannot be found here.
    pub fn take() -> Result<Self, String> {
        let own = "/proc/thread-self/children";
        read_text(own).map_err(|error| format!("child processes: unavailable: {own}: {error}"))?;
        let proc = Path::new("/proc");
        let found = descendants(proc, std::process::id());
        Ok(Look(found.into_iter().filter_map(|pid| Child::read(proc, pid)).collect()))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether these are the same processes as those of another look.
    pub fn has_same_processes(&self, other: &Look) -> bool {
        self.0.iter().map(|child| child.pid).eq(other.0.iter().map(|child| child.pid))
    }

    /// Their resident sets in sum, in bytes.
    pub fn rss(&self) -> u64 {
        self.0.iter().map(|child| child.rss).sum()
    }

    /// The columns that a look fills.
    pub fn columns(&self) -> Readings {
        vec![("child_processes".into(), Some(self.0.len() as u64)), ("children_rss".into(), Some(self.rss()))]
    }

    /// Whether the shares are to be read, which were read last when the processes were as in `before`.
    pub fn due(&self, before: Option<&Look>) -> Due {
        let Some(before) = before.filter(|before| !before.is_empty()) else {
            return if self.is_empty() { Due::Never } else { Due::Soon };
        };
        let faults = |look: &Look| look.0.iter().map(|child| child.faults).sum::<u64>();
        let (now, then) = (self.rss(), before.rss());
        let (faults_now, faults_then) = (faults(self), faults(before));
        let faulted = faults_now.saturating_sub(faults_then).saturating_mul(page_bytes() as u64);
        let has_changed = !self.has_same_processes(before) || now.abs_diff(then).max(faulted) > then / CHANGE;
        if self.is_empty() {
            Due::Never
        } else if !has_changed {
            Due::WhenOld
        } else if now > then.saturating_mul(2) || faults_now > faults_then.saturating_mul(2) {
            Due::Soon
        } else {
            Due::WhenChanged
        }
    }

    /// Reads the shares of all of them and of this process, at the clock's time `now_ns`. The kernel walks all of their pages, some
    /// ten milliseconds a gigabyte.
    pub fn shares(&self, now_ns: u64) -> ChildProcesses {
        let sums = sum(&self.0, |pid| Rollup::read(Some(pid)));
        let own = Rollup::read(None).ok();
        ChildProcesses {
            time_ns: now_ns,
            own_rss_bytes: Statm::open().read().map(|sizes| sizes.rss),
            own_pss_bytes: own.map(|own| own.pss),
            ..sums
        }
    }
}

/// The columns that shares fill. One that lacks a process is no sum.
pub fn columns(shares: &ChildProcesses) -> Readings {
    let whole = shares.pss_bytes.filter(|_| shares.unread == 0);
    vec![("children_pss".into(), whole), ("own_pss".into(), shares.own_pss_bytes)]
}

fn sum(children: &[Child], rollup: impl Fn(u32) -> Result<Rollup, String>) -> ChildProcesses {
    let mut sum = ChildProcesses { processes: children.len() as u32, ..ChildProcesses::default() };
    let mut read = Rollup::default();
    for child in children {
        match rollup(child.pid) {
            Ok(own) => {
                read.pss += own.pss;
                read.private += own.private;
                sum.rss_bytes += own.private + own.shared;
            }
            Err(reason) => {
                sum.rss_bytes += child.rss;
                sum.unread += 1;
                if sum.reasons.len() < MOST_REASONS {
                    sum.reasons.push(reason);
                }
            }
        }
    }
    if sum.unread < sum.processes {
        (sum.pss_bytes, sum.private_bytes) = (Some(read.pss), Some(read.private));
    }
    sum
}

impl Child {
    /// `None` for one that has ended, with or without a parent that has asked for its exit code: it has no memory.
    fn read(proc: &Path, pid: u32) -> Option<Child> {
        let text = read_text(proc.join(pid.to_string()).join("stat")).ok()?;
        let stat = Stat::from_read(text.as_bytes()).ok()?;
        let has_ended = matches!(stat.state, 'Z' | 'X' | 'x');
        (!has_ended).then(|| Child { pid, rss: stat.rss * page_bytes() as u64, faults: stat.minflt })
    }
}

/// All processes below `root`, by number. One that ends meanwhile leaves the list, with those that it has started.
fn descendants(proc: &Path, root: u32) -> BTreeSet<u32> {
    let (mut found, mut next) = (BTreeSet::new(), vec![root]);
    while let Some(parent) = next.pop() {
        let new = children_of(proc, parent).unwrap_or_default().into_iter().filter(|&child| found.insert(child));
        next.extend(new);
    }
    found
}

/// The children of each thread of a process: the kernel lists them by the thread that has started them.
fn children_of(proc: &Path, pid: u32) -> io::Result<Vec<u32>> {
    let process = proc.join(pid.to_string());
    let list = |task: u32| read_text(process.join("task").join(task.to_string()).join("children")).ok();
    let lists = thread_ids_of(&process)?.into_iter().filter_map(list);
    Ok(lists.flat_map(|list| ids(&list)).collect())
}

fn ids(list: &str) -> Vec<u32> {
    list.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(pid: u32, rss: u64, faults: u64) -> Child {
        Child { pid, rss, faults }
    }

    /// Thread 4 of process 1 has started 5, which has started 6; 9 has ended since it was listed.
    #[test]
    fn children_of_all_threads_and_their_children_are_found() {
        let proc = tempfile::tempdir().expect("a folder");
        let lists =
            [("1/task/1", "2 9 "), ("1/task/4", "5"), ("2/task/2", ""), ("5/task/5", "6 rubbish"), ("6/task/6", "")];
        for (folder, list) in lists {
            std::fs::create_dir_all(proc.path().join(folder)).expect("a folder");
            std::fs::write(proc.path().join(folder).join("children"), list).expect("a list");
        }
        assert_eq!(descendants(proc.path(), 1), BTreeSet::from([2, 5, 6, 9]));
        let stat = |pid: u32, state: char| {
            // The fields of proc_pid_stat(5): minflt is the tenth, rss the 24th.
            let fields =
                format!("{pid} (a b) {state} 1 1 1 0 -1 0 77 0 0 0 {}300 {}", "0 ".repeat(10), "0 ".repeat(29));
            std::fs::write(proc.path().join(format!("{pid}/stat")), fields).expect("a file");
        };
        stat(5, 'S');
        stat(6, 'Z');
        let read = |pid| Child::read(proc.path(), pid);
        assert_eq!(read(5), Some(child(5, 300 * page_bytes() as u64, 77)));
        assert_eq!([read(6), read(9)], [None; 2], "one that has ended, and one that is gone");
    }

    /// A process that cannot be read is in the number and the resident sets, and in no share.
    #[test]
    fn what_cannot_be_read_says_so_and_the_rest_stands() {
        let children = [child(3, 500, 0), child(4, 70, 0), child(5, 600, 0)];
        let known = Rollup { pss: 100, private: 40, shared: 460, ..Rollup::default() };
        let read = sum(&children, |pid| if pid == 4 { Err("4 is another user's".to_owned()) } else { Ok(known) });
        let expected = ChildProcesses {
            processes: 3,
            rss_bytes: 500 + 70 + 500,
            pss_bytes: Some(200),
            private_bytes: Some(80),
            unread: 1,
            reasons: vec!["4 is another user's".to_owned()],
            ..ChildProcesses::default()
        };
        assert_eq!(read, expected);
        assert_eq!(columns(&read)[0], ("children_pss".into(), None), "a sum without one of them is none");
        let none = sum(&children, |_| Err("no rollup".to_owned()));
        assert_eq!((none.rss_bytes, none.pss_bytes, none.private_bytes, none.unread), (1_170, None, None, 3));
    }

    /// 1,600 pages in sum: up to a hundred more, or as many faults, are too few to walk all of them again.
    #[test]
    fn shares_are_read_again_when_they_may_have_changed() {
        let page = page_bytes() as u64;
        let before = Look(vec![child(3, 800 * page, 1_000), child(4, 800 * page, 1_000)]);
        let due = |look: Look| look.due(Some(&before));
        let changed = |rss: u64, faults: u64| Look(vec![child(3, 800 * page, 1_000), child(4, rss * page, faults)]);
        assert_eq!([due(changed(900, 1_100)), due(changed(700, 1_000))], [Due::WhenOld; 2]);
        let others = Look(vec![child(3, 800 * page, 1_000), child(8, 800 * page, 0)]);
        let changed_much = [due(changed(901, 1_000)), due(changed(800, 1_101)), due(others)];
        assert_eq!(changed_much, [Due::WhenChanged; 3]);
        let doubled = [due(changed(2_401, 1_000)), due(changed(800, 3_001))];
        assert_eq!(doubled, [Due::Soon; 2], "more than 3,200 pages, more than 4,000 faults");
        assert_eq!(due(Look::default()), Due::Never);
        assert_eq!([before.due(None), before.due(Some(&Look::default()))], [Due::Soon; 2]);
        assert_eq!(Look::default().due(None), Due::Never);
    }

    /// A child of the test's own is found, and so are its shares, until it has ended.
    #[test]
    fn a_child_is_found_until_it_ends() {
        use std::process::{Command, Stdio};

        let mut sleeps = Command::new("cat").stdin(Stdio::piped()).spawn().expect("a child");
        let is_there = |look: &Look| look.0.iter().any(|child| child.pid == sleeps.id());
        let look = Look::take().expect("this kernel lists children");
        assert!(is_there(&look), "{look:?}");
        let own = Look(look.0.into_iter().filter(|child| child.pid == sleeps.id()).collect());
        let shares = own.shares(7);
        assert!(shares.pss_bytes.is_some_and(|pss| 0 < pss && pss <= shares.rss_bytes), "{shares:?}");
        assert!(shares.pss_with_own() > shares.pss_bytes && shares.time_ns == 7, "{shares:?}");
        drop(sleeps.stdin.take());
        sleeps.wait().expect("it ends");
        let gone = own.shares(8);
        assert_eq!((gone.processes, gone.unread, gone.pss_bytes), (1, 1, None));
        assert!(gone.reasons[0].starts_with("/proc/"), "{gone:?}");
    }
}
