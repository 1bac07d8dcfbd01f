//! How many threads the process has, as the program reads it from `/proc/self/stat` by `fopen`: without the recorder's. CPython does so
//! after each fork from version 3.12 on, and warns where there are several (docs/decisions/0020-threads-that-are-not-counted.md).
use std::ffi::{CStr, c_char};
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::{FromRawFd, IntoRawFd};

use alloc_tracker::unaided::{as_tracker, own_threads};

use crate::next::{FOPEN, FOPEN64, Next, Open};

const STAT: &CStr = c"/proc/self/stat";
/// The place of the number among the words behind the program's name, which stands in parentheses and may have blanks; proc(5) calls it
/// the 20th field, and the name is the second.
const NUM_THREADS: usize = 17;

/// `fopen(3)`.
///
/// # Safety
/// As for the function of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fopen(path: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    // SAFETY: as the caller promises.
    unsafe { open(&FOPEN, path, mode) }
}

/// `fopen64`, which is what the C library's headers make of `fopen` for large files.
///
/// # Safety
/// As for the function of the C library.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fopen64(path: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    // SAFETY: as the caller promises.
    unsafe { open(&FOPEN64, path, mode) }
}

/// # Safety
/// As for `fopen`.
unsafe fn open(next: &Next<Open>, path: *const c_char, mode: *const c_char) -> *mut libc::FILE {
    // SAFETY: both are null or C strings, as the caller promises.
    let is_stat =
        unsafe { !path.is_null() && !mode.is_null() && CStr::from_ptr(path) == STAT && *mode == b'r' as c_char };
    if is_stat && let Some(file) = std::panic::catch_unwind(|| as_tracker(stat_of_program)).ok().flatten() {
        let descriptor = file.into_raw_fd();
        // SAFETY: the descriptor is open and nobody else's; the mode is a C string.
        let stream = unsafe { libc::fdopen(descriptor, mode) };
        if !stream.is_null() {
            return stream;
        }
        // SAFETY: no stream has taken it over.
        unsafe { libc::close(descriptor) };
    }
    // SAFETY: as the caller promises.
    next.get().map_or(std::ptr::null_mut(), |open| unsafe { open(path, mode) })
}

/// A file with what the kernel says, less the recorder's threads; `None` where there are none, or it cannot be had.
fn stat_of_program() -> Option<File> {
    let own = own_threads();
    if own == 0 {
        return None;
    }
    let text = without(&std::fs::read(STAT.to_str().ok()?).ok()?, own)?;
    // SAFETY: the name is a C string, and the flag is one that the call knows.
    let descriptor = unsafe { libc::memfd_create(c"stat".as_ptr(), libc::MFD_CLOEXEC) };
    if descriptor < 0 {
        return None;
    }
    // SAFETY: the descriptor was opened just now and is nobody else's.
    let mut file = unsafe { File::from_raw_fd(descriptor) };
    file.write_all(&text).ok()?;
    file.rewind().ok()?;
    Some(file)
}

/// The line with so many threads less; `None` if it is not as proc(5) has it.
fn without(line: &[u8], own: usize) -> Option<Vec<u8>> {
    let name_end = line.iter().rposition(|&byte| byte == b')')? + 1;
    let (name, rest) = line.split_at(name_end);
    let mut words: Vec<&str> = std::str::from_utf8(rest).ok()?.split(' ').collect();
    // Behind the parenthesis is a blank, so the first word is empty.
    let word = words.get_mut(NUM_THREADS + 1)?;
    let threads = word.parse::<usize>().ok()?.checked_sub(own).filter(|&threads| threads > 0)?.to_string();
    *word = &threads;
    Some([name, words.join(" ").as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorders_threads_are_taken_off_the_20th_field() {
        let line = b"7 (a b) c) S 1 7 7 0 -1 4194304 95 0 0 0 0 0 0 0 20 0 5 0 61 3 4\n";
        let told = without(line, 4).expect("a line of proc's");
        assert_eq!(told, b"7 (a b) c) S 1 7 7 0 -1 4194304 95 0 0 0 0 0 0 0 20 0 1 0 61 3 4\n");
        assert_eq!(without(line, 5), None, "a process has one thread at least");
        assert_eq!(without(b"7 (sh) S 1", 1), None);
    }

    #[test]
    fn the_kernels_own_line_is_understood() {
        let line = std::fs::read("/proc/self/stat").expect("stat");
        let status = std::fs::read_to_string("/proc/thread-self/status").expect("status");
        assert!(status.contains("Threads:"));
        assert!(without(&line, 0).is_some_and(|told| told == line), "less none is the line itself");
    }
}
