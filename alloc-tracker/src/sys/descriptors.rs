//! A table of descriptors for the calling thread, and for the threads that it starts from then on. Linux gives a process one
//! table, which its threads share, and lets a thread leave it for one of its own. What is opened there has no number in the
//! program's table: the program cannot close it, cannot be given its number, and hands it to no child.
//!
//! The kernel makes the new table as a copy. Nothing of the copy may stay: it would keep the program's pipes, sockets and locked
//! files open after the program has closed them. What is closed in the copy keeps its place in the program's table, and so do
//! the program's locks, because a lock of `fcntl` belongs to a table.
use std::os::fd::RawFd;

use alloc_timeline::kept_file::Table;

use super::folder;

/// Gives the calling thread an empty table of its own. Returns `false` where the kernel or a container's filter allows neither
/// `close_range` (Linux 5.9) nor `unshare`; then nothing has changed. The way by `unshare` takes memory for a list of numbers.
pub fn own_descriptors() -> bool {
    let own = close_range_unshared() || unshared();
    if own {
        Table::own().is_current_from_now_on();
        fill_standard_numbers();
    }
    own
}

/// Copies nothing, or closes it before anybody sees it.
fn close_range_unshared() -> bool {
    // SAFETY: the system call takes numbers, and changes nothing but the calling thread's table of descriptors.
    unsafe { libc::syscall(libc::SYS_close_range, 0, libc::c_uint::MAX, libc::CLOSE_RANGE_UNSHARE) == 0 }
}

/// The same for older kernels: the copy is there for some microseconds.
fn unshared() -> bool {
    let own = std::path::Path::new("/proc/thread-self/fd");
    // SAFETY: as above.
    if !own.exists() || unsafe { libc::unshare(libc::CLONE_FILES) } != 0 {
        return false;
    }
    let numbers = folder::entries(own).unwrap_or_default();
    for number in numbers.iter().filter_map(|entry| entry.name.to_str()?.parse::<RawFd>().ok()) {
        // SAFETY: the table is a copy that nothing but this thread uses. The number of the folder itself is closed already.
        unsafe { libc::close(number) };
    }
    true
}

/// Takes the numbers 0 to 2, so that no file of the tracker's gets one of them: what prints would write into it. To write to an
/// epoll instance is an error, and it needs no path and keeps no file system in use.
fn fill_standard_numbers() {
    for _ in libc::STDIN_FILENO..=libc::STDERR_FILENO {
        // SAFETY: the system call takes a number. The table is empty, so it gives the lowest ones.
        unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::Read;
    use std::os::fd::AsRawFd;
    use std::sync::mpsc;

    use super::*;
    use crate::sys;

    /// The descriptors of the calling thread, but that of the folder that is read.
    fn count() -> usize {
        fs::read_dir("/proc/thread-self/fd").expect("/proc").count() - 1
    }

    /// Sets a lock on all of `file`, or says which one is in its way.
    fn lock(file: &File, command: i32) -> i32 {
        // SAFETY: a lock is numbers, for which zero is a value.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = libc::F_WRLCK as libc::c_short;
        // SAFETY: the lock is valid for the call.
        assert_eq!(unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) }, 0);
        lock.l_type.into()
    }

    /// In both ways, while the thread with its own table lives: a pipe ends when the program closes it, the program's lock on a
    /// file stays, and another thread of the tracker has the same three descriptors.
    #[test]
    fn nothing_of_the_programs_is_kept_or_lost() {
        let older = || {
            let own = unshared();
            fill_standard_numbers();
            own
        };
        let ways: [fn() -> bool; 2] = [own_descriptors, older];
        for way in ways {
            let file = tempfile::NamedTempFile::new().expect("a file");
            lock(file.as_file(), libc::F_SETLK);
            let (mut read, write) = std::io::pipe().expect("a pipe");
            let (tell, told) = mpsc::channel();
            let (end, ended) = mpsc::channel::<()>();
            let path = file.path().to_owned();
            let thread = std::thread::spawn(move || {
                let own = way();
                let counts = (count(), std::thread::spawn(count).join().expect("a count"));
                // Another table is another owner of locks: to it, the program's lock is somebody else's.
                let found = lock(&File::options().write(true).open(path).expect("the file"), libc::F_GETLK);
                tell.send((own, counts, found)).expect("the test waits");
                let _ = ended.recv();
            });
            assert_eq!(told.recv().expect("an answer"), (true, (3, 3), libc::F_WRLCK));
            drop(write);
            assert_eq!(read.read(&mut [0]).expect("the pipe's end"), 0);
            drop(end);
            thread.join().expect("no panic");
        }
    }

    #[test]
    fn threads_know_whose_table_they_have() {
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            assert!(own_descriptors());
            let own = Table::current();
            let started =
                sys::Thread::spawn(c"a-test", move || tell.send((own, Table::current())).expect("the test waits"));
            started.expect("a thread").join();
        });
        thread.join().expect("no panic");
        let (own, inherited) = told.recv().expect("an answer");
        assert_eq!((own, Table::current()), (inherited, Table::default()));
        assert_ne!(own, Table::default());
    }
}
