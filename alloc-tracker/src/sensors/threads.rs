//! Processor time by thread, from /proc/self/task/*/stat.
use alloc_timeline::kept_file::read_text;
use procfs_core::FromRead;
use procfs_core::process::Stat;

use crate::sys;

/// What a thread has used so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadTime {
    /// The kernel's number of the thread.
    pub id: u32,
    /// When it began, in the kernel's ticks since the machine did: a later thread may have the number of one that has ended.
    pub began: u64,
    /// Its name, of at most 15 bytes.
    pub name: String,
    /// The kernel's ticks in the program.
    pub user: u64,
    /// The kernel's ticks in the kernel.
    pub system: u64,
}

/// What the text of a thread's stat file says; `None` for a text of another form.
pub fn thread_time(text: &str) -> Option<ThreadTime> {
    let stat = Stat::from_read(text.as_bytes()).ok()?;
    let id = u32::try_from(stat.pid).ok()?;
    Some(ThreadTime { id, began: stat.starttime, name: stat.comm, user: stat.utime, system: stat.stime })
}

/// The threads of the process. One that ends meanwhile is left out.
///
/// # Errors
/// When /proc/self/task cannot be read.
pub fn thread_times() -> std::io::Result<Vec<ThreadTime>> {
    let read = |id: u32| thread_time(&read_text(format!("/proc/self/task/{id}/stat")).ok()?);
    Ok(sys::thread_ids()?.into_iter().filter_map(read).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let text = "4242 (a (b) c) S 1 1 1 0 -1 4194304 7 0 1 0 250 30 0 0 20 0 9 0 100 0 0 18446744073709551615 1 1 0 0 0 0 \
                    0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0";
        let thread = ThreadTime { id: 4242, began: 100, name: "a (b) c".into(), user: 250, system: 30 };
        assert_eq!(thread_time(text), Some(thread));
        assert_eq!(thread_time(""), None);
        assert_eq!(thread_time("4242 (a) S 1"), None);
    }

    #[test]
    fn this_process_has_threads() {
        let threads = thread_times().expect("/proc");
        assert!(threads.iter().any(|thread| thread.id == std::process::id()), "{threads:?}");
    }
}
