//! The threads of a process, from /proc/PID/task. Where a thread ends while the kernel lists it, the list ends there, or goes on by the number
//! of places and passes over another thread (`next_tid` and `first_tid` in its fs/proc/base.c).
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

use alloc_timeline::kept_file::KeptFile;

use super::folder::entries;

/// A list from which a thread may be missing is read again, so often at the most.
const LISTINGS: usize = 8;

/// This process's folder in /proc.
const OWN: &str = "/proc/self";

/// The numbers of this process's threads. Some that ended meanwhile may be among them.
///
/// # Errors
/// When the folder cannot be read.
pub fn thread_ids() -> io::Result<BTreeSet<u32>> {
    thread_ids_of(Path::new(OWN))
}

/// The numbers of the threads of the process whose folder in /proc this is, as [`thread_ids`] has them.
///
/// # Errors
/// When the folder cannot be read.
pub fn thread_ids_of(process: &Path) -> io::Result<BTreeSet<u32>> {
    let (folder, count) = (process.join("task"), ThreadCount::of(process));
    let mut ids = BTreeSet::new();
    for _ in 0..LISTINGS {
        let listed: BTreeSet<u32> =
            entries(&folder)?.iter().filter_map(|task| task.name.to_str()?.parse().ok()).collect();
        let count = count.now();
        // All that were listed were there when they were counted, if they still are.
        let all_stay = listed.iter().all(|id| folder.join(id.to_string()).exists());
        let is_whole = all_stay && count.is_none_or(|count| count == listed.len());
        ids.extend(listed);
        if is_whole {
            break;
        }
    }
    Ok(ids)
}

/// How many threads there are, by the kernel's own count (proc_pid_stat(5)), from which none is missing. The file stays open, since the program may
/// come to have no /proc (chroot(2)).
#[derive(Debug)]
pub struct ThreadCount(Option<KeptFile>);

impl ThreadCount {
    /// Opens this process's file.
    pub fn open() -> Self {
        Self::of(Path::new(OWN))
    }

    /// Opens the file of the process whose folder in /proc this is.
    fn of(process: &Path) -> Self {
        ThreadCount(KeptFile::open(process.join("stat")).ok())
    }

    /// The count now. The first thread counts until the process is over. `None` when it cannot be read.
    pub fn now(&self) -> Option<usize> {
        let mut text = [0; 1024];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        let text = String::from_utf8_lossy(&text[..length]);
        // Behind the program's name, which may have brackets and blanks, the state is the first field, and this the eighteenth.
        text.rsplit_once(") ")?.1.split(' ').nth(17)?.parse().ok()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// Other threads end all the time, and the one that looks began after some of them.
    #[test]
    fn no_thread_is_missing_while_others_end() {
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        let _ = std::thread::spawn(|| ()).join();
                    }
                });
            }
            // SAFETY: it takes nothing and cannot fail.
            let look = || (unsafe { libc::gettid() }.unsigned_abs(), thread_ids(), ThreadCount::open().now());
            let looks: Vec<_> = (0..300).map(|_| std::thread::spawn(look).join()).collect();
            is_over.store(true, Ordering::Relaxed);
            for (own, ids, count) in looks.into_iter().map(|look| look.expect("a thread")) {
                let ids = ids.expect("/proc");
                assert!(ids.contains(&own) && ids.contains(&std::process::id()), "{own} {ids:?}");
                assert!(count.is_some_and(|count| count >= 4), "{count:?}");
            }
        });
    }
}
