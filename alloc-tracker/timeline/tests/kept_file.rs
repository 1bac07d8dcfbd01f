//! A program that closes all descriptors and opens files of its own, in the same process as a file that is kept. One test
//! alone in its process: the numbers of descriptors belong to all threads.
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;

use alloc_timeline::kept_file::KeptFile;
use rustix::io::{FdFlags, fcntl_dupfd_cloexec, fcntl_getfd};

/// The descriptor that leads to `path`.
fn number_of(path: &Path) -> RawFd {
    let entries = fs::read_dir("/proc/self/fd").expect("/proc").map(|entry| entry.expect("an entry").path());
    let mut found = entries.filter(|entry| fs::read_link(entry).is_ok_and(|target| target == path));
    let entry = found.next().unwrap_or_else(|| panic!("no descriptor of {}", path.display()));
    entry.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok()).expect("a number")
}

/// Closes the descriptor of `path` behind its owner's back, and gives its number to `others`.
fn take_over(path: &Path, others: &File) -> OwnedFd {
    let number = number_of(path);
    assert!(number >= 96, "{number} is one that the program would have had");
    // SAFETY: that the owner's descriptor is closed is what is tested: the owner must find that out.
    drop(unsafe { OwnedFd::from_raw_fd(number) });
    let taken = fcntl_dupfd_cloexec(others, number).expect("a free number");
    assert_eq!(taken.as_raw_fd(), number);
    taken
}

#[test]
fn a_descriptor_that_became_anothers_is_neither_written_to_nor_read_nor_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let text = |name: &str| fs::read_to_string(path(name)).expect("a file");
    fs::write(path("theirs"), "theirs").expect("a file");
    let theirs = File::options().read(true).append(true).open(path("theirs")).expect("a file");

    let mut log = KeptFile::create(path("log")).expect("a file");
    log.write_all(b"one ").expect("room");
    let taken = take_over(&path("log"), &theirs);
    log.write_all(b"two ").expect("opened again");
    log.write_all(b"three").expect("room");
    assert_eq!((text("log").as_str(), text("theirs").as_str()), ("one two three", "theirs"));
    // The one that was opened again is closed with its owner, the other's is not.
    drop(log);
    assert_eq!(fcntl_getfd(&taken), Ok(FdFlags::CLOEXEC));

    // Closed and not taken over, and dropped so.
    let lost = KeptFile::create(path("log")).expect("a file");
    drop(take_over(&path("log"), &theirs));
    drop(lost);

    // Another file has the name meanwhile: nothing is written to that.
    let mut log = KeptFile::create(path("log")).expect("a file");
    drop(take_over(&path("log"), &theirs));
    fs::rename(path("log"), path("old")).expect("the folder is ours");
    fs::write(path("log"), "new").expect("a file");
    let refused = log.write_all(b"one").expect_err("not the same file").to_string();
    assert!(refused.contains("another file has its name"), "{refused}");
    fs::remove_file(path("log")).expect("the folder is ours");
    let refused = log.write_all(b"one").expect_err("no file").to_string();
    assert!(refused.contains("cannot be opened again"), "{refused}");

    // A renamed file is known by its new name.
    let mut log = KeptFile::create_new(path("partial")).expect("a file");
    log.rename(&path("log")).expect("the folder is ours");
    drop(take_over(&path("log"), &theirs));
    log.write_all(b"whole").expect("opened again");
    assert_eq!(text("log"), "whole");

    let mut read = KeptFile::open(path("log")).expect("a file");
    let mut buffer = [0; 3];
    read.read_exact(&mut buffer).expect("three bytes");
    let taken = take_over(&path("log"), &theirs);
    let mut rest = String::new();
    read.read_to_string(&mut rest).expect("two bytes");
    assert_eq!((&buffer, rest.as_str()), (b"who", "le"));
    drop(read);
    assert_eq!(fcntl_getfd(&taken), Ok(FdFlags::CLOEXEC));
    assert_eq!(text("theirs"), "theirs");
}
