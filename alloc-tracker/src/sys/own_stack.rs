//! Which part of a thread's own stack can be read without asking the kernel.
//!
//! ```text
//! | guard | not used yet | start ... frames of all calls ... | end: the thread's record, or what the kernel put there |
//!                                ^ stack pointer: from here to the end, all of it is mapped
//! ```
//!
//! A thread's own stack stays mapped while the thread runs. But a thread may run on another one (of a coroutine, of a
//! signal handler), which may be anywhere, end anywhere, and be unmapped later. Only a stack pointer between `start` and
//! `end` is on the own one for certain. So the kernel is asked once for each page between the two: below a thread's stack
//! there is a guard that cannot be read, and below the main thread's there is a gap. (A thread that the program gave a
//! stack without a guard can be mistaken: memory below it that can be read at that moment is taken for a part of it.)
//!
//! `pthread_getattr_np` would tell the bounds. It takes a lock of the thread's, which the thread may have when it allocates.
use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use super::errno::preserving_errno;
use super::page::page_bytes;

/// The most bytes that are asked for at once. Who is deeper in calls than that at the first sample is looked at again later.
const MOST_BYTES: usize = 16 << 20;
/// How many pages one call asks for.
const PAGES: usize = 32;
/// The most refusals to wait until the kernel is asked again. The wait doubles each time that a stack pointer turns out to be on
/// another stack, as that of coroutines always is.
const MOST_PATIENCE: u32 = 1024;

/// What one thread knows of its own stack. All zeroes: nothing. Only that thread writes to it, and its signal handlers, who
/// leave what is as true as what they found.
#[derive(Debug, Default)]
pub struct OwnStack {
    /// The lowest address that is known to be readable, the first of a page.
    start: AtomicUsize,
    /// The address behind the last word that may be read.
    end: AtomicUsize,
    /// How many more times [`OwnStack::ask`] refuses without asking the kernel.
    wait: AtomicU32,
    patience: AtomicU32,
}

impl OwnStack {
    /// Forgets what was known, and finds the end of the calling thread's stack. The C library puts a thread's record, to which
    /// the thread's handle points, at the end of its stack. The main thread's record is elsewhere, below its stack; there the
    /// kernel has put random bytes above all frames.
    pub fn begin(&self) {
        let here = 0u8;
        // SAFETY: both take nothing that has to be valid, and cannot fail.
        let (record, random) = unsafe { (libc::pthread_self() as usize, libc::getauxval(libc::AT_RANDOM) as usize) };
        let end = if record > (&raw const here).addr() { record } else { random };
        self.end.store(end / size_of::<u64>() * size_of::<u64>(), Ordering::Relaxed);
        self.start.store(end.next_multiple_of(page_bytes()), Ordering::Relaxed);
        self.wait.store(0, Ordering::Relaxed);
        self.patience.store(0, Ordering::Relaxed);
    }

    /// The addresses that can be read while the stack pointer is `pointer`, from there on; an empty range when that is not known.
    #[inline]
    pub fn readable(&self, pointer: usize) -> Range<u64> {
        let (start, end) = (self.start.load(Ordering::Relaxed), self.end.load(Ordering::Relaxed));
        if (start..end).contains(&pointer) { pointer as u64..end as u64 } else { 0..0 }
    }

    /// [`OwnStack::readable`], for which the kernel may be asked.
    #[cold]
    pub fn ask(&self, pointer: usize) -> Range<u64> {
        let start = self.start.load(Ordering::Relaxed);
        if pointer >= start {
            return self.readable(pointer);
        }
        let wait = self.wait.load(Ordering::Relaxed);
        if wait > 0 {
            self.wait.store(wait - 1, Ordering::Relaxed);
            return 0..0;
        }
        let first = pointer / page_bytes() * page_bytes();
        if start - first <= MOST_BYTES && are_readable(first, start) {
            self.start.store(first, Ordering::Relaxed);
            self.patience.store(0, Ordering::Relaxed);
            return self.readable(pointer);
        }
        let patience = (2 * self.patience.load(Ordering::Relaxed)).clamp(1, MOST_PATIENCE);
        self.patience.store(patience, Ordering::Relaxed);
        self.wait.store(patience, Ordering::Relaxed);
        0..0
    }
}

/// Whether all pages from `start` to `end` can be read: the kernel copies one byte of each.
fn are_readable(start: usize, end: usize) -> bool {
    let page = page_bytes();
    let mut next = start;
    while next < end {
        let there: [libc::iovec; PAGES] = std::array::from_fn(|number| libc::iovec {
            iov_base: (next + number * page) as *mut libc::c_void,
            iov_len: 1,
        });
        let pages = ((end - next) / page).min(PAGES);
        let mut copy = [0u8; PAGES];
        let here = libc::iovec { iov_base: copy.as_mut_ptr().cast(), iov_len: pages };
        // SAFETY: the kernel writes at most as many bytes into `copy` as there are pages, and checks the addresses that it reads
        // from.
        let read = preserving_errno(|| unsafe {
            libc::process_vm_readv(libc::getpid(), &here, 1, there.as_ptr(), pages as libc::c_ulong, 0)
        });
        if usize::try_from(read) != Ok(pages) {
            return false;
        }
        next += pages * page;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer() -> usize {
        let here = 0u8;
        (&raw const here).addr()
    }

    #[inline(never)]
    fn deeper(stack: &OwnStack, from: usize) {
        let room = std::hint::black_box([1u8; 3 << 14]);
        let below = room.as_ptr().addr();
        assert_eq!(stack.readable(below), 0..0, "it was not asked for");
        assert_eq!(stack.ask(below).start, below as u64);
        assert_eq!(stack.readable(below).start, below as u64);
        assert_eq!(stack.readable(from).start, from as u64);
    }

    /// The stack of a thread of the standard library, where the frames of the thread's first function are far from the end.
    #[test]
    fn a_threads_stack_is_known_once_it_was_asked_for() {
        let stack = OwnStack::default();
        assert_eq!((stack.readable(pointer()), stack.ask(pointer())), (0..0, 0..0), "nothing has begun");
        std::thread::spawn(|| {
            let stack = OwnStack::default();
            stack.begin();
            let here = pointer();
            assert_eq!(stack.readable(here), 0..0);
            let readable = stack.ask(here);
            assert_eq!(readable.start, here as u64);
            // SAFETY: the function takes nothing and cannot fail.
            assert_eq!(readable.end, unsafe { libc::pthread_self() } as u64);
            deeper(&stack, here);
        })
        .join()
        .expect("the thread");
    }

    /// 2 MiB below a stack of 1 MiB is another one, or nothing: in between there is the stack's guard. The kernel is asked at the
    /// first and at the third look.
    #[test]
    fn what_is_below_the_guard_is_not_the_threads() {
        let looks = || {
            let stack = OwnStack::default();
            stack.begin();
            let other = pointer() - (2 << 20);
            for (look, wait) in [(1, 1), (2, 0), (3, 2)] {
                assert_eq!(stack.ask(other), 0..0, "{look}");
                assert_eq!(stack.wait.load(Ordering::Relaxed), wait, "{look}");
            }
            assert_eq!((stack.ask(pointer()), stack.ask(pointer())), (0..0, 0..0), "it waits");
            assert!(!stack.ask(pointer()).is_empty());
        };
        std::thread::Builder::new().stack_size(1 << 20).spawn(looks).expect("a thread").join().expect("what it found");
    }

    #[test]
    fn what_is_not_mapped_is_not_readable() {
        let page = page_bytes();
        // SAFETY: an anonymous mapping at an address of the kernel's choice; one page in its middle is then taken away from it,
        // and the rest at the end. Nothing else knows of it.
        unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let start = libc::mmap(std::ptr::null_mut(), 100 * page, protection, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            let first = start.addr();
            assert!(are_readable(first, first + 100 * page));
            assert_eq!(libc::mprotect(start.byte_add(70 * page), page, libc::PROT_NONE), 0);
            assert!(!are_readable(first, first + 100 * page));
            assert!(are_readable(first, first + 70 * page) && are_readable(first + 71 * page, first + 100 * page));
            libc::munmap(start, 100 * page);
        }
    }
}
