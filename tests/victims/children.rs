//! A process forks once, and the child makes pages its own in two steps: `tests/children.rs` says what must be found. Each step waits
//! until the recording's log has a reading of the child's shares that began after the step.
//!
//! ```text
//! parent   maps 64 MiB and writes to all of it, then forks         each page is in both: half in the PSS of each
//! child    writes to 32 MiB of these                               the child's copies are its own, and the parent's pages the parent's
//! child    maps 32 MiB more and writes to all of it                its own from the start
//! ```
use std::fs::File;
use std::io::BufReader;
use std::time::Duration;

use alloc_interpose as _;
use alloc_timeline::log::Reader;
use alloc_timeline::{ChildProcesses, Record};
use alloc_tracker::Session;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const MIB: usize = 1 << 20;

/// New memory of pages of the usual size, of which none has been written to.
fn map(bytes: usize) -> *mut u8 {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: the kernel chooses an address at which nothing is.
    let memory = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, -1, 0) };
    assert_ne!(memory, libc::MAP_FAILED);
    // SAFETY: the range was mapped above. A kernel without huge pages refuses, and needs no advice.
    unsafe { libc::madvise(memory, bytes, libc::MADV_NOHUGEPAGE) };
    memory.cast()
}

/// Writes to the first `bytes` bytes.
fn write(memory: *mut u8, bytes: usize) {
    // SAFETY: `map` has mapped so many there, and nobody else uses them.
    unsafe { memory.write_bytes(7, bytes) };
}

/// Both ends of a pipe: to read from, to write to.
fn pipe() -> [i32; 2] {
    let mut ends = [0; 2];
    // SAFETY: there is room for two numbers.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    ends
}

fn send(end: i32) {
    // SAFETY: one byte is read from a byte.
    assert_eq!(unsafe { libc::write(end, [1u8].as_ptr().cast(), 1) }, 1);
}

/// Waits for a byte; false when the other end is closed.
fn receive(end: i32) -> bool {
    let mut byte = 0u8;
    // SAFETY: there is room for one byte.
    unsafe { libc::read(end, (&raw mut byte).cast(), 1) == 1 }
}

/// What the child does, and says when it has done it. It allocates nothing.
fn child(inherited: *mut u8, [asked, done]: [i32; 2]) -> ! {
    assert!(receive(asked));
    write(inherited, 32 * MIB);
    send(done);
    assert!(receive(asked));
    write(map(32 * MIB), 32 * MIB);
    send(done);
    receive(asked);
    // SAFETY: it ends without what a process does at its end, which is the parent's.
    unsafe { libc::_exit(0) };
}

/// Prints a reading of shares that began after this instant, which is called `step`: as soon as the recording's log has it.
fn print_next(session: &Session, path: &str, step: &str) {
    session.mark(step);
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let log = BufReader::new(File::open(format!("{path}.log")).expect("the log"));
        let (mut since_ns, mut read) = (None, None);
        for record in Reader::new(log) {
            match record.expect("the log can be read") {
                Record::Mark(mark) if mark.name == step => since_ns = Some(mark.time_ns),
                Record::ChildProcesses(children) => read = Some(children),
                _ => {}
            }
        }
        let is_later = |children: &ChildProcesses| since_ns.is_some_and(|since_ns| children.time_ns >= since_ns);
        if let Some(children) = read.filter(is_later) {
            println!("{}", serde_json::to_string(&children).expect("JSON"));
            return;
        }
    }
}

fn main() {
    let path = std::env::args().nth(1).expect("usage: victim-children TIMELINE");
    let session = Session::builder().output(&path).start().expect("a session");
    let memory = map(64 * MIB);
    write(memory, 64 * MIB);
    let (asked, done) = (pipe(), pipe());
    // SAFETY: the parent has no threads but the tracker's, and the child allocates nothing.
    let forked = unsafe { libc::fork() };
    if forked == 0 {
        // SAFETY: the parent's ends.
        unsafe { (libc::close(asked[1]), libc::close(done[0])) };
        child(memory, [asked[0], done[1]]);
    }
    print_next(&session, &path, "forked");
    for step in ["written", "mapped"] {
        send(asked[1]);
        assert!(receive(done[0]));
        print_next(&session, &path, step);
    }
    // SAFETY: the child ends when nobody asks any more. `status` is valid for writing.
    let status = unsafe {
        libc::close(asked[1]);
        let mut status = 0;
        libc::waitpid(forked, &raw mut status, 0);
        status
    };
    assert_eq!(status, 0, "the child");
    session.finish().expect("the timeline");
}
