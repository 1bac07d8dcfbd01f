//! The threads of the process: their names, and where their stacks are.
//!
//! A stack begins where its mapping does, behind a page that nobody may touch. At its other end, the kernel may have
//! merged it with what the program has mapped there. The thread library puts the thread's own record, whose address is the
//! thread's handle, at a fixed distance before that end. A thread of the tracker's finds out the distance.
use std::sync::atomic::{AtomicUsize, Ordering};

use alloc_timeline::kept_file::read_text;

use crate::ledger;
use crate::sys::{page_bytes, thread_ids};

/// A thread that is running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its name with its number.
    pub name: String,
    /// An address on its stack; 0 when none is known.
    pub stack_address: usize,
    /// The address behind its stack; 0 when that is not known.
    pub stack_end: usize,
}

/// Bytes from a thread's handle to the end of its stack; 0 while that is not known.
static HANDLE_TO_END: AtomicUsize = AtomicUsize::new(0);

/// Finds out how the thread library lays out a stack, by that of the calling thread, which must not be the main thread.
pub fn learn_layout() {
    // SAFETY: the attributes are plain data for which zeroes are a value; pthread_getattr_np fills them in for the calling
    // thread, and they are used and destroyed only if it did. Both results are valid for writing.
    unsafe {
        let handle = libc::pthread_self();
        let mut attributes = std::mem::zeroed();
        if libc::pthread_getattr_np(handle, &mut attributes) != 0 {
            return;
        }
        let (mut start, mut bytes) = (std::ptr::null_mut(), 0);
        libc::pthread_attr_getstack(&attributes, &mut start, &mut bytes);
        libc::pthread_attr_destroy(&mut attributes);
        let end = start.addr() + bytes;
        if (start.addr()..end).contains(&(handle as usize)) {
            HANDLE_TO_END.store(end - handle as usize, Ordering::Relaxed);
        }
    }
}

/// The threads; none when /proc/self/task cannot be read. A thread that has allocated has left an address with its
/// slot. Of the others, the kernel tells the stack pointer while they wait.
pub fn read() -> Vec<Thread> {
    let to_end = HANDLE_TO_END.load(Ordering::Relaxed);
    let known: Vec<(u32, usize, usize)> = ledger::live_slots()
        .map(|slot| {
            let of = |number: &AtomicUsize| number.load(Ordering::Relaxed);
            let end = if to_end == 0 { 0 } else { (of(&slot.thread_handle) + to_end).next_multiple_of(page_bytes()) };
            (slot.thread_id.load(Ordering::Relaxed), of(&slot.stack_address), end)
        })
        .collect();
    let ids = thread_ids().unwrap_or_default();
    let thread = |id: u32| {
        let text = |file: &str| read_text(format!("/proc/self/task/{id}/{file}")).unwrap_or_default();
        let left = known.iter().find(|known| known.0 == id).map(|&(_, address, end)| (address, end));
        let waits = || stack_pointer(&text("syscall")).map(|address| (address, 0));
        let (stack_address, stack_end) = left.or_else(waits).unwrap_or_default();
        Thread { name: format!("{} ({id})", text("comm").trim()), stack_address, stack_end }
    };
    ids.into_iter().map(thread).collect()
}

/// The last but one word of /proc/self/task/TID/syscall (proc_pid_syscall(5)); a running thread has none.
fn stack_pointer(text: &str) -> Option<usize> {
    let word = text.split_ascii_whitespace().rev().nth(1)?;
    usize::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_format() {
        let waits = "35 0x7ffd 0x0 0x0 0x0 0x0 0x0 0x7ffd26f4f0e8 0x7fe21b9b6d87\n";
        assert_eq!(stack_pointer(waits), Some(0x7ffd_26f4_f0e8));
        assert_eq!(stack_pointer("-1 0x7ffd26f4f0e8 0x7fe21b9b6d87\n"), Some(0x7ffd_26f4_f0e8));
        assert_eq!(stack_pointer("running\n"), None);
    }

    #[test]
    fn a_stack_ends_where_the_thread_library_says() {
        learn_layout();
        let distance = HANDLE_TO_END.load(Ordering::Relaxed);
        std::thread::spawn(move || {
            learn_layout();
            assert_eq!(HANDLE_TO_END.load(Ordering::Relaxed), distance, "it is the same for all threads");
            let _ = ledger::acquire();
            let here = 0u8;
            let here = (&raw const here).addr();
            let threads = read();
            let own = threads.iter().find(|thread| (here..here + (1 << 20)).contains(&thread.stack_end));
            assert!(own.is_some_and(|own| own.stack_address < own.stack_end), "{here:x} {threads:x?}");
        })
        .join()
        .expect("the thread");
    }

    #[test]
    fn this_thread_is_among_them() {
        let here = 0u8;
        let _ = ledger::acquire();
        let own = format!("({})", std::process::id());
        let threads = read();
        assert!(threads.iter().any(|thread| thread.name.ends_with(&own)), "{threads:?}");
        assert!(threads.iter().any(|thread| thread.stack_address.abs_diff((&raw const here).addr()) < 1 << 20));
    }
}
