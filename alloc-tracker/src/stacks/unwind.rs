//! Unwinding: from a thread's registers to the calls that it is in, by the code map, without a lock or an allocation.
//!
//! The tools for that (a cache of earlier results, buffers, a side stack) are made beforehand, for [`READERS`] samples
//! at the same time. A thread that finds all of them in use does not wait: its sample has no stack. The thread's stack
//! is read by a system call, which returns an error for an unmapped address where a plain read would end the process.
//! So a damaged stack, or code without unwind tables, gives a short list of calls and never a crash.
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

use framehop::{CacheNative, MustNotAllocateDuringUnwind, UnwindRegsNative, Unwinder};

use super::code_map::{self, CodeMap, READERS};
use super::side_stack::SideStack;
use super::table::{self, NO_STACK};
use crate::sys::preserving_errno;

/// The most frames of a stack. Of a deeper stack the innermost frames are kept.
const DEPTH: usize = 192;
/// The most bytes of the stack that are read at once: whole pages.
const WINDOW: usize = 16 * 1024;
/// Pages of the first window. Each takes about as long as a call without any, and most small stacks end in the second one.
const FIRST_PAGES: u64 = 2;
/// How many times the window may be moved for one stack.
const MOVES: usize = 128;
const PAGE: u64 = 4096;

type Cache = CacheNative<MustNotAllocateDuringUnwind>;

/// The tools that one sample at a time uses.
struct Reader {
    /// Set while a sample uses the tools.
    taken: AtomicBool,
    /// Buffers, and the side stack on which the unwinder runs; `None` until [`prepare`] has made them.
    tools: UnsafeCell<Option<(Box<Buffers>, SideStack)>>,
}

// SAFETY: only the thread that has set `taken` accesses the cell, until it unsets `taken`.
unsafe impl Sync for Reader {}

struct Buffers {
    cache: Cache,
    frames: [u64; DEPTH],
    window: StackWindow,
}

/// A copy of a part of the thread's stack: the addresses from `start` to `end`.
struct StackWindow {
    start: u64,
    end: u64,
    moves: usize,
    copy: Box<[u64]>,
}

/// The readers, with the numbers that [`code_map::pin`] knows them by.
static ALL: [Reader; READERS] =
    [const { Reader { taken: AtomicBool::new(false), tools: UnsafeCell::new(None) } }; READERS];

/// Makes the tools, if they are not made yet. A forked child goes on with the parent's; those that another thread of
/// the parent was using at the fork stay in use for ever.
pub fn prepare() {
    for reader in &ALL {
        if !reader.taken.swap(true, Ordering::Acquire) {
            // SAFETY: `taken` was unset, so the cell is this thread's until it is unset again.
            let tools = unsafe { &mut *reader.tools.get() };
            if tools.is_none() {
                let window = StackWindow { start: 0, end: 0, moves: 0, copy: vec![0; WINDOW / 8].into() };
                let buffers = Buffers { cache: Cache::new_in(), frames: [0; DEPTH], window };
                *tools = SideStack::new().map(|stack| (Box::new(buffers), stack));
            }
            reader.taken.store(false, Ordering::Release);
        }
    }
}

/// The number of the calling thread's present stack; [`NO_STACK`] when it cannot be found.
pub fn stack() -> u32 {
    let is_free = |reader: &Reader| !reader.taken.swap(true, Ordering::Acquire);
    let Some(number) = ALL.iter().position(is_free) else { return NO_STACK };
    // SAFETY: `taken` was unset, so the cell is this thread's until it is unset again.
    let tools = unsafe { &mut *ALL[number].tools.get() };
    let found = match (tools, code_map::pin(number)) {
        (Some((buffers, side_stack)), Some(map)) => {
            let (pc, registers) = registers();
            side_stack.run(|| buffers.stack(map, pc, registers)).unwrap_or(NO_STACK)
        }
        _ => NO_STACK,
    };
    code_map::unpin(number);
    ALL[number].taken.store(false, Ordering::Release);
    found
}

/// The program counter, and the registers that the unwinder needs.
#[inline(always)]
fn registers() -> (u64, UnwindRegsNative) {
    #[cfg(target_arch = "x86_64")]
    {
        let (ip, sp, bp): (u64, u64, u64);
        // SAFETY: the instructions only copy three registers.
        unsafe {
            std::arch::asm!(
                "lea {ip}, [rip]",
                "mov {sp}, rsp",
                "mov {bp}, rbp",
                ip = out(reg) ip,
                sp = out(reg) sp,
                bp = out(reg) bp,
                options(nomem, nostack, preserves_flags),
            );
        }
        (ip, UnwindRegsNative::new(ip, sp, bp))
    }
    #[cfg(target_arch = "aarch64")]
    {
        let (pc, lr, sp, fp): (u64, u64, u64, u64);
        // SAFETY: the instructions only copy four registers.
        unsafe {
            std::arch::asm!(
                "adr {pc}, .",
                "mov {lr}, x30",
                "mov {sp}, sp",
                "mov {fp}, x29",
                pc = out(reg) pc,
                lr = out(reg) lr,
                sp = out(reg) sp,
                fp = out(reg) fp,
                options(nomem, nostack, preserves_flags),
            );
        }
        (pc, UnwindRegsNative::new(lr, sp, fp))
    }
}

impl Buffers {
    /// The number of the stack that has these registers.
    fn stack(&mut self, map: &CodeMap, pc: u64, registers: UnwindRegsNative) -> u32 {
        let Buffers { cache, frames, window } = self;
        (window.start, window.end, window.moves) = (0, 0, 0);
        let mut read = |address| window.read(address);
        let mut calls = map.unwinder.iter_frames(pc, registers, cache, &mut read);
        let (mut depth, mut cut) = (0, false);
        // An error ends the list of calls. In most programs it occurs at the outermost function itself.
        while let Ok(Some(call)) = calls.next() {
            let Some(frame) = map.frame(call.address_for_lookup()) else {
                code_map::note_missed();
                cut = true;
                break;
            };
            let Some(place) = frames.get_mut(depth) else {
                cut = true;
                break;
            };
            *place = frame;
            depth += 1;
        }
        if depth == 0 { NO_STACK } else { table::number(&frames[..depth], cut) }
    }
}

impl StackWindow {
    /// The word at an address of the thread's stack.
    fn read(&mut self, address: u64) -> Result<u64, ()> {
        if !address.is_multiple_of(8) {
            return Err(());
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
