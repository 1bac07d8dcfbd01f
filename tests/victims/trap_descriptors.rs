//! A program that closes every descriptor that it finds, as daemons do, and opens files of its own at the same numbers,
//! while a session records. What it writes stays as it is, its files stay open, and the session goes on.
use std::ffi::CString;
use std::fs;
use std::hint::black_box;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use alloc_interpose as _;

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

/// The descriptors that are open, but the standard ones: the recorder's, and what the program has of the C library.
fn open_numbers() -> Vec<RawFd> {
    let entries = fs::read_dir("/proc/self/fd").expect("/proc").flatten();
    let mut numbers: Vec<RawFd> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.retain(|&number| number > 2);
    numbers.sort();
    numbers
}

/// Creates a file with the number that the system gives it.
fn open(path: &Path) -> RawFd {
    let path = CString::new(path.as_os_str().as_bytes()).expect("a path");
    // SAFETY: the path is a C string, and the rest takes numbers.
    unsafe { libc::open(path.as_ptr(), libc::O_CREAT | libc::O_WRONLY, 0o600) }
}

/// Creates a file as descriptor `number`.
fn open_as(path: &Path, number: RawFd) -> RawFd {
    let file = open(path);
    if file != number {
        // SAFETY: both calls take numbers. Whoever had `number` is meant to lose it.
        unsafe {
            libc::dup2(file, number);
            libc::close(file);
        }
    }
    number
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = session();
    settle();
    let found = open_numbers();
    for number in found.iter().copied().chain(3..40) {
        // SAFETY: close takes a number. That its owner loses it is the trap.
        unsafe { libc::close(number) };
    }
    let path = |name: usize| folder.path().join(name.to_string());
    // Forty with the numbers that are free, and those that the recorder has kept, which are high.
    let kept = found.iter().copied().filter(|&number| number >= 96);
    let given = (0..40).map(|name| open(&path(name)));
    let numbers: Vec<RawFd> =
        given.chain(kept.enumerate().map(|(index, number)| open_as(&path(40 + index), number))).collect();
    drop(black_box(vec![0u8; 1_000_000]));
    settle();
    finish(session);
    // SAFETY: write reads three bytes, which are there.
    let write = |number: RawFd| unsafe { libc::write(number, b"own".as_ptr().cast(), 3) };
    let files: Vec<(usize, RawFd)> = numbers.into_iter().enumerate().collect();
    let closed: Vec<RawFd> = files.iter().map(|&(_, number)| number).filter(|&number| write(number) != 3).collect();
    check("its files stay open", closed, Vec::new());
    let is_changed = |&(name, _): &(usize, RawFd)| fs::read(path(name)).expect("its file") != b"own";
    let changed: Vec<RawFd> = files.iter().copied().filter(is_changed).map(|(_, number)| number).collect();
    check("its files hold what it has written", changed, Vec::new());
}
