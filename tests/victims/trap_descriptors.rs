//! A program that closes every descriptor that it finds, as daemons do, and opens files of its own at the same numbers,
//! while a session records. What it writes stays as it is, its files stay open, and the session goes on. The second argument says
//! what the kernel refuses: `older`, what it had not before 5.9; `refused`, any table of descriptors of a thread's own.
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
    let refuses_all = trick() == "refused";
    match &*trick() {
        "older" => refuse(&[libc::SYS_close_range]),
        "refused" => refuse(&[libc::SYS_close_range, libc::SYS_unshare]),
        _ => {}
    }
    let folder = tempfile::tempdir().expect("a folder");
    let own = descriptors();
    let session = session();
    settle();
    let found = descriptors();
    if !refuses_all {
        check("the session has none of its numbers", &found, &own);
    }
    // Another table has the same numbers: those that are free, and the high ones that the recorder would take in this one.
    let high = (96..128).chain(found.iter().copied().filter(|&number| number >= 128));
    for number in (3..40).chain(high.clone()) {
        // SAFETY: close takes a number. That its owner loses it is the trap.
        unsafe { libc::close(number) };
    }
    let path = |name: usize| folder.path().join(name.to_string());
    let given = (0..40).map(|name| open(&path(name)));
    let numbers: Vec<RawFd> =
        given.chain(high.enumerate().map(|(index, number)| open_as(&path(40 + index), number))).collect();
    drop(black_box(vec![0u8; 1_000_000]));
    if !refuses_all {
        settle();
    }
    finish(session);
    // SAFETY: write reads three bytes, which are there.
    let write = |number: RawFd| unsafe { libc::write(number, b"own".as_ptr().cast(), 3) };
    let files: Vec<(usize, RawFd)> = numbers.into_iter().enumerate().collect();
    let closed: Vec<RawFd> = files.iter().map(|&(_, number)| number).filter(|&number| write(number) != 3).collect();
    if !refuses_all {
        check("its files stay open", closed, Vec::new());
    }
    // Of two files with one number, because the first was lost, the second has been written to twice.
    let is_changed = |&(name, _): &(usize, RawFd)| {
        let text = fs::read(path(name)).expect("its file");
        if refuses_all { !text.chunks(3).all(|chunk| chunk == b"own") } else { text != b"own" }
    };
    let changed: Vec<RawFd> = files.iter().copied().filter(is_changed).map(|(_, number)| number).collect();
    check("its files hold what it has written", changed, Vec::new());
}
