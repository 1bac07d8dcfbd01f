//! A program whose descriptors, files and functions are its own while a session records. The second argument says which.
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Mutex;

use alloc_interpose as _;
use alloc_tracker::{Expected, PeakAction, Session};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

/// What it closes is closed: whoever waits for the other end of a pipe or socket is told at once, and a lock is free.
fn ends() {
    let (mut piped, pipe) = std::io::pipe().expect("a pipe");
    let (mut other, socket) = UnixStream::pair().expect("sockets");
    other.set_nonblocking(true).expect("a socket");
    // SAFETY: fcntl takes numbers.
    unsafe { libc::fcntl(piped.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    let (folder, locked) = (tempfile::tempdir().expect("a folder"), "locked");
    let open = || OpenOptions::new().create(true).append(true).open(folder.path().join(locked)).expect("a file");
    let first = open();
    first.lock().expect("nobody has it");
    let session = session();
    settle();
    drop((pipe, socket, first));
    check("the pipe ends", piped.read(&mut [0]).map_err(|error| error.kind()), Ok(0));
    check("the socket ends", other.read(&mut [0]).map_err(|error| error.kind()), Ok(0));
    check_that("the lock is free", open().try_lock().is_ok(), ());
    finish(session);
}

/// A lock of `fcntl` is lost when its process closes the file, whichever descriptor that was. It is the program's table that
/// counts.
fn locks() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let other = File::options().write(true).open(file.path()).expect("the same");
    // SAFETY: a lock is numbers, for which zero is a value.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_WRLCK as libc::c_short;
    // SAFETY: the lock is valid for the call.
    let ask = |file: &File, command, lock: &mut libc::flock| unsafe { libc::fcntl(file.as_raw_fd(), command, lock) };
    check("the lock is set", ask(file.as_file(), libc::F_SETLK, &mut lock), 0);
    let session = session();
    settle();
    finish(session);
    // To a lock of the open file, that of the process is another's.
    check("the lock can be asked for", ask(&other, libc::F_OFD_GETLK, &mut lock), 0);
    check("the lock is still there", c_int(lock.l_type), libc::F_WRLCK);
}

fn c_int(number: libc::c_short) -> libc::c_int {
    number.into()
}

/// The descriptors of a program that it starts, and of a child that it forks, are those without a session.
fn children() {
    let program = || Command::new("ls").arg("/proc/self/fd").output().expect("ls").stdout;
    let forked = || {
        // SAFETY: this process has no threads but the recorder's, and the child ends without handlers.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let code = descriptors().len() as i32;
            // SAFETY: the call takes a number and does not return.
            unsafe { libc::_exit(code) };
        }
        let mut status = 0;
        // SAFETY: the child is this process's, and the status is valid for writing.
        unsafe { libc::waitpid(child, &mut status, 0) };
        libc::WEXITSTATUS(status)
    };
    let before = (descriptors(), program(), forked());
    let session = session();
    settle();
    check("it has no more descriptors", (descriptors(), program(), forked()), before);
    finish(session);
}

/// A function that is called before a peak has the program's descriptors.
fn function() {
    let Some(path) = output() else { return check("no session", 0, 0) };
    let (read, write) = std::io::pipe().expect("a pipe");
    let number = write.as_raw_fd();
    let near = move |_: &alloc_tracker::Approach| {
        // SAFETY: the number is that of the pipe, which is open as long as the session.
        let written = unsafe { libc::write(number, b"near".as_ptr().cast(), 4) };
        if written == 4 { PeakAction::Continue } else { PeakAction::Dump }
    };
    let session = Session::builder().output(path).before_peak(Expected::Bytes(1 << 20), near).start();
    let session = session.expect("a session");
    let block = std::hint::black_box(vec![1u8; 2 << 20]);
    if !is_off() {
        let mut said = [0; 4];
        (&read).read_exact(&mut said).expect("four bytes");
        check("it writes into the program's pipe", &said, b"near");
    }
    drop(block);
    session.finish().expect("the timeline");
    check("the pipe is still open", (&write).write(b"own").map_err(|error| error.kind()), Ok::<_, ErrorKind>(3));
}

/// A function that is called before a peak ends the process.
fn exits() {
    let Some(path) = output() else { return };
    let near = |_: &alloc_tracker::Approach| {
        println!("ok called");
        std::process::exit(7)
    };
    let session = Session::builder().output(path).before_peak(Expected::Bytes(1 << 20), near).start();
    let _session = session.expect("a session");
    let _block = std::hint::black_box(vec![1u8; 2 << 20]);
    std::thread::sleep(HANGS);
}

static BEGUN: Mutex<Option<Session>> = Mutex::new(None);

extern "C" fn of_library(begins: libc::c_int) {
    let mut begun = BEGUN.lock().expect("the session");
    if begins != 0 {
        *begun = session();
    } else {
        finish(begun.take());
    }
}

/// A library's constructor starts the session, and its destructor finishes it: the loader's lock is held meanwhile. The third
/// argument is the library, which calls the function at the address in `TRAP_CALLS`.
fn library() {
    let path = std::env::args().nth(3).and_then(|path| std::ffi::CString::new(path).ok()).expect("a library");
    let function = of_library as extern "C" fn(libc::c_int) as usize;
    // SAFETY: no other thread reads or changes the environment.
    unsafe { std::env::set_var("TRAP_CALLS", function.to_string()) };
    // SAFETY: the library is the test's own.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
    check("the library is loaded", handle.is_null(), false);
    settle();
    check("it records", BEGUN.lock().expect("the session").is_some(), output().is_some());
    // SAFETY: nothing of the library is used any more.
    check("the library is unloaded", unsafe { libc::dlclose(handle) }, 0);
    check("it has ended", BEGUN.lock().expect("the session").is_none(), true);
}

fn main() {
    match &*trick() {
        "ends" => ends(),
        "locks" => locks(),
        "children" => children(),
        "function" => function(),
        "exits" => exits(),
        "library" => library(),
        other => panic!("no such trick: {other}"),
    }
}
