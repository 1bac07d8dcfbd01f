//! Helpers of the trap programs: the line that each check prints, the session that the first argument asks for, errno,
//! C functions that the `libc` crate does not declare, random numbers, descriptors, and system calls that are refused.
#![allow(dead_code, reason = "no trap needs all of it")]
use std::ffi::{c_char, c_int, c_long, c_void};
use std::fmt::Debug;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use alloc_tracker::Session;

unsafe extern "C" {
    pub fn cfree(block: *mut c_void);
    pub fn valloc(size: usize) -> *mut c_void;
    pub fn pvalloc(size: usize) -> *mut c_void;
    pub fn free_sized(block: *mut c_void, size: usize);
    pub fn free_aligned_sized(block: *mut c_void, alignment: usize, size: usize);
    pub fn asprintf(result: *mut *mut c_char, format: *const c_char, ...) -> c_int;
    pub fn quick_exit(code: c_int) -> !;
    pub fn _Exit(code: c_int) -> !;
}

/// The first argument, when there is one that is not `-`: the timeline to write.
pub fn output() -> Option<String> {
    std::env::args().nth(1).filter(|path| path != "-")
}

/// A session that writes to [`output`], when there is one.
pub fn session() -> Option<Session> {
    // The first line allocates stdout's buffer. It is printed here, outside of all scopes, so that no scope owns the
    // buffer.
    println!("began");
    let path = output()?;
    Some(Session::builder().output(path).start().expect("a session"))
}

/// The second argument: which of its tricks the trap shall do.
pub fn trick() -> String {
    std::env::args().nth(2).unwrap_or_default()
}

/// Finishes the session, if there is one.
pub fn finish(session: Option<Session>) {
    if let Some(session) = session {
        session.finish().expect("the timeline");
    }
}

/// Only ends what hangs: nothing that a trap waits for takes so long, however busy or slow the machine is. It is less than
/// whoever runs the trap waits (`tests/traps/run.rs`), so that the trap can say what hangs.
pub const HANGS: Duration = Duration::from_secs(300);

/// Waits until the recorder, if there is one, has ended a tick, and has taken the sample of one that began after this
/// call. The log shows it: it grows at least once and at most twice in a tick, so when it has grown for the third time,
/// that is a later tick than the one that was under way.
pub fn settle() {
    let Some(log) = output().filter(|_| !is_off()).map(|path| path + ".log") else { return };
    let length = || std::fs::metadata(&log).map_or(0, |file| file.len());
    let began = Instant::now();
    for _ in 0..3 {
        let before = length();
        while length() == before {
            assert!(began.elapsed() < HANGS, "the log does not grow");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Prints `ok NAME`, or `FAIL NAME` with both values.
pub fn check<T: PartialEq + Debug>(name: &str, got: T, expected: T) {
    if got == expected {
        println!("ok {name}");
    } else {
        println!("FAIL {name}: expected {expected:?} got {got:?}");
    }
}

/// Prints `ok NAME` when `holds`, otherwise `FAIL NAME` with what was found.
pub fn check_that(name: &str, holds: bool, found: impl Debug) {
    if holds {
        println!("ok {name}");
    } else {
        println!("FAIL {name}: expected otherwise got {found:?}");
    }
}

pub fn errno() -> c_int {
    // SAFETY: the calling thread's own errno, valid as long as the thread.
    unsafe { *libc::__errno_location() }
}

pub fn set_errno(code: c_int) {
    // SAFETY: as for `errno`.
    unsafe { *libc::__errno_location() = code }
}

/// A number of `/proc/self/statm`, in bytes: 0 is that of all mappings, 1 the resident set.
pub fn statm(number: usize) -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("statm");
    let pages: u64 = text.split_whitespace().nth(number).and_then(|word| word.parse().ok()).expect("the number");
    // SAFETY: sysconf only reads a number.
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64
}

/// The resident set of this process, in bytes.
pub fn resident() -> i64 {
    statm(1) as i64
}

/// Has the kernel refuse mappings that would make the address space larger than this. The limit can be lifted again.
pub fn limit_address_space(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: setrlimit reads the structure and nothing else.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

/// CLOCK_MONOTONIC, in nanoseconds.
pub fn now_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is valid for writing.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Whether `ALLOC_TRACKER=off` switched the tracker off.
pub fn is_off() -> bool {
    !alloc_tracker::hooks::is_on()
}

/// xorshift64*: the same numbers for the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 11) % end
    }
}

/// The numbers of this process's descriptors, and that of the folder of them.
pub fn descriptors() -> Vec<RawFd> {
    let entries = std::fs::read_dir("/proc/self/fd").expect("/proc").flatten();
    let mut numbers: Vec<RawFd> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    numbers.sort();
    numbers
}

/// Has the kernel refuse these system calls from now on, to this thread and to all that it starts: as containers do.
pub fn refuse(calls: &[c_long]) {
    let statement = |code: u32, k: u32, jt: u8| libc::sock_filter { code: code as u16, jt, jf: 0, k };
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    // The number of the call is the first word of what a filter sees.
    let mut filter = vec![statement(load, 0, 0)];
    for (index, &call) in calls.iter().enumerate() {
        let to_the_end = (calls.len() - index) as u8;
        filter.push(statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32, to_the_end));
    }
    filter.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW, 0));
    filter.push(statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32, 0));
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: the filter lives until both calls have returned.
    let refused = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    };
    assert!(refused, "a filter: {}", std::io::Error::last_os_error());
}
