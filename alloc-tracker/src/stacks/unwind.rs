//! From a thread's registers to the calls it is in, by the tables of [`super::modules`], without a lock and without an
//! allocation.
//!
//! What that needs (a cache of what was found before, room for the result, a stack) is made beforehand, for eight samples at
//! the same time. Who finds all in use does not wait: the sample has no stack. The stack is read through the kernel, which refuses
//! addresses where nothing is instead of ending the process: a damaged stack, or code without tables, gives a short
//! answer, never a crash.
use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use framehop::{CacheNative, MustNotAllocateDuringUnwind, UnwindRegsNative, Unwinder};

use super::aside::{self, Room};
use super::modules::{self, Current};
use super::{NO_STACK, table};

/// The most frames that a stack has; of a deeper one the innermost are kept.
const DEPTH: usize = 192;
/// Bytes of the stack that are read at once; whole pages.
const WINDOW: usize = 16 * 1024;
/// How often the window may be moved in one stack.
const MOVES: usize = 128;
const SEATS: usize = 8;
const PAGE: u64 = 4096;

type Cache = CacheNative<MustNotAllocateDuringUnwind>;

/// What one sample at a time uses.
struct Seat {
    taken: AtomicBool,
    /// The version of the list that is in use here.
    uses: AtomicPtr<Current>,
    /// With the stack on which callers are looked for.
    desk: UnsafeCell<Option<(Box<Desk>, Room)>>,
}

// SAFETY: the cell is touched by the thread that has set `taken`, and by nobody else until that is unset.
unsafe impl Sync for Seat {}

struct Desk {
    cache: Cache,
    frames: [u64; DEPTH],
    window: Window,
}

/// A copy of a part of the stack.
struct Window {
    start: u64,
    end: u64,
    moves: usize,
    copy: Box<[u64]>,
}

static ALL: [Seat; SEATS] = [const {
    Seat { taken: AtomicBool::new(false), uses: AtomicPtr::new(ptr::null_mut()), desk: UnsafeCell::new(None) }
}; SEATS];

/// Makes what samples need, once. A forked child goes on with it; what a thread of the parent was using stays in use for
/// ever.
pub fn prepare() {
    for seat in &ALL {
        if !seat.taken.swap(true, Ordering::Acquire) {
            // SAFETY: `taken` was unset, so the cell is this thread's until it is unset again.
            let desk = unsafe { &mut *seat.desk.get() };
            if desk.is_none() {
                let window = Window { start: 0, end: 0, moves: 0, copy: vec![0; WINDOW / 8].into() };
                let fresh = Desk { cache: Cache::new_in(), frames: [0; DEPTH], window };
                *desk = Room::new().map(|room| (Box::new(fresh), room));
            }
            seat.taken.store(false, Ordering::Release);
        }
    }
}

/// Whether a sample is being taken with this version of the list.
pub fn uses(version: *const Current) -> bool {
    ALL.iter().any(|seat| ptr::eq(seat.uses.load(Ordering::SeqCst), version))
}

/// The number of the stack that the calling thread is on.
pub fn stack() -> u32 {
    let free = |seat: &&Seat| !seat.taken.swap(true, Ordering::Acquire);
    let Some(seat) = ALL.iter().find(free) else { return NO_STACK };
    let mut version = modules::current();
    loop {
        seat.uses.store(version.cast_mut(), Ordering::SeqCst);
        let now = modules::current();
        if ptr::eq(now, version) {
            break;
        }
        version = now;
    }
    // SAFETY: `taken` was unset, so the cell is this thread's. The version is null or was CURRENT after it was said to be in
    // use, and is not freed while that stands.
    let number = match unsafe { ((*seat.desk.get()).as_mut(), version.as_ref()) } {
        (Some((desk, room)), Some(version)) => {
            let (pc, registers) = registers();
            let mut job = Job { desk, version, pc, registers, number: NO_STACK };
            aside::run(room, look, (&raw mut job).cast());
            job.number
        }
        _ => NO_STACK,
    };
    seat.uses.store(ptr::null_mut(), Ordering::SeqCst);
    seat.taken.store(false, Ordering::Release);
    number
}

/// What is looked for, from where, and what was found.
struct Job<'a> {
    desk: &'a mut Desk,
    version: &'a Current,
    pc: u64,
    registers: UnwindRegsNative,
    number: u32,
}

extern "C" fn look(job: *mut c_void) {
    // SAFETY: `stack` gives its own job, which nobody else touches until this returns.
    let job = unsafe { &mut *job.cast::<Job>() };
    job.number = job.desk.stack(job.version, job.pc, job.registers);
}

/// Program counter and registers of the caller.
#[inline(always)]
fn registers() -> (u64, UnwindRegsNative) {
    #[cfg(target_arch = "x86_64")]
    {
        let (ip, sp, bp): (u64, u64, u64);
        // SAFETY: reads three registers.
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
        // SAFETY: reads four registers.
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

impl Desk {
    /// The number of the stack that has these registers.
    fn stack(&mut self, version: &Current, pc: u64, registers: UnwindRegsNative) -> u32 {
        let Desk { cache, frames, window } = self;
        (window.start, window.end, window.moves) = (0, 0, 0);
        let mut read = |address| window.read(address);
        let mut calls = version.unwinder.iter_frames(pc, registers, cache, &mut read);
        let (mut depth, mut cut) = (0, false);
        // An error is the end of what can be known: the outermost function itself, in most programs.
        while let Ok(Some(call)) = calls.next() {
            let Some(frame) = version.frame(call.address_for_lookup()) else {
                modules::missed();
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

impl Window {
    fn read(&mut self, address: u64) -> Result<u64, ()> {
        if !address.is_multiple_of(8) {
            return Err(());
        }
        if !(self.start..self.end).contains(&address) {
            self.go_to(address)?;
        }
        self.copy.get(((address - self.start) / 8) as usize).copied().ok_or(())
    }

    /// Reads the pages from that of `address` on, as many as are there.
    fn go_to(&mut self, address: u64) -> Result<(), ()> {
        self.moves += 1;
        (self.start, self.end) = (0, 0);
        if self.moves > MOVES {
            return Err(());
        }
        let start = address / PAGE * PAGE;
        let there: [libc::iovec; WINDOW / PAGE as usize] = std::array::from_fn(|page| libc::iovec {
            iov_base: (start + page as u64 * PAGE) as *mut libc::c_void,
            iov_len: PAGE as usize,
        });
        let here = libc::iovec { iov_base: self.copy.as_mut_ptr().cast(), iov_len: WINDOW };
        // SAFETY: __errno_location returns the calling thread's own errno, valid for the thread's life.
        let errno = unsafe { *libc::__errno_location() };
        // SAFETY: the kernel writes at most WINDOW bytes into `copy`, which is that long, and reads only what is there.
        let read = unsafe { libc::process_vm_readv(libc::getpid(), &here, 1, there.as_ptr(), there.len() as u64, 0) };
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = errno };
        let read = u64::try_from(read).map_err(drop)?;
        (self.start, self.end) = (start, start + read);
        if address < self.end { Ok(()) } else { Err(()) }
    }
}
