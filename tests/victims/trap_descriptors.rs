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

/// The program's descriptors but the standard ones, and all others below 40.
fn numbers() -> Vec<RawFd> {
    let entries = fs::read_dir("/proc/self/fd").expect("/proc").flatten();
    let mut numbers: Vec<RawFd> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.extend(3..40);
    numbers.retain(|&number| number > 2);
    numbers.sort();
    numbers.dedup();
    numbers
}

/// Creates the file at `path` as descriptor `number`.
fn open_as(path: &Path, number: RawFd) {
    let path = CString::new(path.as_os_str().as_bytes()).expect("a path");
    // SAFETY: the path is a C string, and the rest takes numbers. Whoever had `number` is meant to lose it.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_CREAT | libc::O_WRONLY, 0o600);
        if file != number {
            libc::dup2(file, number);
            libc::close(file);
        }
    }
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let session = session();
    settle();
    let numbers = numbers();
    for &number in &numbers {
        // SAFETY: close takes a number. That its owner loses it is the trap.
        unsafe { libc::close(number) };
    }
    let path = |number: RawFd| folder.path().join(number.to_string());
    numbers.iter().for_each(|&number| open_as(&path(number), number));
    drop(black_box(vec![0u8; 1_000_000]));
    settle();
    finish(session);
    // SAFETY: write reads three bytes, which are there.
    let write = |number: RawFd| unsafe { libc::write(number, b"own".as_ptr().cast(), 3) };
    let closed: Vec<RawFd> = numbers.iter().copied().filter(|&number| write(number) != 3).collect();
    check("its files stay open", closed, Vec::new());
    let is_changed = |number: &RawFd| fs::read(path(*number)).expect("its file") != b"own";
    let changed: Vec<RawFd> = numbers.iter().copied().filter(is_changed).collect();
    check("its files hold what it has written", changed, Vec::new());
}
