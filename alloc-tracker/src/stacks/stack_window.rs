//! What a thread's stack holds, for code that must not trust an address: a damaged stack gives an error and no crash.
//!
//! Addresses of the thread's own stack, from the stack pointer on, are read as they are ([`OwnStack`](crate::sys::OwnStack)). All
//! others are read by a system call, which returns an error for an unmapped address where a plain read would end the process.
use std::ops::Range;

use crate::sys::preserving_errno;

/// The most bytes of the stack that are read at once: whole pages.
const WINDOW: usize = 16 * 1024;
/// Pages of the first window. Each takes about as long as a call without any, and most small stacks end in the second one.
const FIRST_PAGES: u64 = 2;
/// How many times the window may be moved for one stack.
const MOVES: usize = 128;
const PAGE: u64 = 4096;

/// The word at an address on the calling thread's own stack, of which `readable` is known to be mapped.
///
/// # Errors
/// When the word is not in that part, or the address is not a multiple of 8.
///
/// # Safety
/// `readable` must be what [`OwnStack`](crate::sys::OwnStack) said to the calling thread, in a function that has not returned yet.
#[inline(always)]
pub unsafe fn read_own(readable: &Range<u64>, address: u64) -> Result<u64, ()> {
    // The range ends at a multiple of 8.
    if !readable.contains(&address) || !address.is_multiple_of(8) {
        return Err(());
    }
    // SAFETY: the word is on the thread's own stack, above the stack pointer, and so it is mapped and aligned. The read is volatile
    // because the compiler knows nothing of what is there, and other threads may write to it.
    Ok(unsafe { (address as *const u64).read_volatile() })
}

/// Reads one stack, see the module.
#[derive(Debug)]
pub struct StackWindow {
    /// What is read as it is.
    own: Range<u64>,
    /// Which addresses have been copied.
    start: u64,
    end: u64,
    moves: usize,
    copy: Box<[u64]>,
}

impl StackWindow {
    /// A window on nothing.
    pub fn new() -> Self {
        StackWindow { own: 0..0, start: 0, end: 0, moves: 0, copy: vec![0; WINDOW / 8].into() }
    }

    /// Begins with another stack.
    ///
    /// # Safety
    /// As for [`read_own`]; nothing may be read any more when the function has returned that `own` holds for.
    pub unsafe fn begin(&mut self, own: Range<u64>) {
        (self.own, self.start, self.end, self.moves) = (own, 0, 0, 0);
    }

    /// The word at an address of the thread's stack.
    ///
    /// # Errors
    /// When there is none.
    pub fn read(&mut self, address: u64) -> Result<u64, ()> {
        if !address.is_multiple_of(8) {
            return Err(());
        }
        // SAFETY: as the caller of `begin` has promised.
        if let Ok(word) = unsafe { read_own(&self.own, address) } {
            return Ok(word);
        }
        if !(self.start..self.end).contains(&address) {
            self.go_to(address)?;
        }
        self.copy.get(((address - self.start) / 8) as usize).copied().ok_or(())
    }

    /// Copies the pages from that of `address` on, as many as are mapped and fit; at first only [`FIRST_PAGES`].
    fn go_to(&mut self, address: u64) -> Result<(), ()> {
        self.moves += 1;
        (self.start, self.end) = (0, 0);
        if self.moves > MOVES {
            return Err(());
        }
        let start = address / PAGE * PAGE;
        // Each page is an element of its own: where one is not mapped, those before it are read all the same.
        let there: [libc::iovec; WINDOW / PAGE as usize] = std::array::from_fn(|page| libc::iovec {
            iov_base: (start + page as u64 * PAGE) as *mut libc::c_void,
            iov_len: PAGE as usize,
        });
        let pages = if self.moves == 1 { FIRST_PAGES } else { there.len() as u64 };
        let here = libc::iovec { iov_base: self.copy.as_mut_ptr().cast(), iov_len: WINDOW };
        let read = preserving_errno(|| {
            // SAFETY: the kernel writes at most WINDOW bytes into `copy`, which has as many, and checks the addresses
            // that it reads from.
            unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, there.as_ptr(), pages, 0) }
        });
        let read = u64::try_from(read).map_err(drop)?;
        (self.start, self.end) = (start, start + read);
        if address < self.end { Ok(()) } else { Err(()) }
    }
}
