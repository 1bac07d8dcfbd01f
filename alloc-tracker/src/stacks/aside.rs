//! Runs a function on a stack of the tracker's: signal handlers and threads may have hardly more stack than they need
//! themselves, and finding callers takes up to 14 KiB, without optimisation 58.
//!
//! All signals wait meanwhile, so that no handler of the program finds itself on a stack that is not its thread's.
use std::arch::asm;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

use crate::sys;

/// Bytes of such a stack; resident where touched.
const ROOM: usize = 256 * 1024;
/// Below it nothing may be touched.
const GUARD: usize = 64 * 1024;

/// A stack.
#[derive(Debug)]
pub struct Room(*mut u8);

// SAFETY: the pointer is to a mapping that belongs to this value alone and is never unmapped.
unsafe impl Send for Room {}

impl Room {
    /// A stack, for good; `None` when the kernel gives no memory.
    pub fn new() -> Option<Self> {
        let start = sys::map_zeroed(GUARD + ROOM);
        // SAFETY: the pages were mapped just now, and nobody has them but this function.
        let guarded = !start.is_null() && unsafe { libc::mprotect(start.cast(), GUARD, libc::PROT_NONE) } == 0;
        guarded.then_some(Room(start))
    }
}

/// Calls `function` with `argument`, on the stack `room`.
pub fn run(room: &mut Room, function: extern "C" fn(*mut c_void), argument: *mut c_void) {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are valid for writing; the first is filled before it is read, the second by the call.
    let blocked = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr()) == 0
    };
    if !blocked {
        return;
    }
    let top = room.0.wrapping_add(GUARD + ROOM);
    // SAFETY: `top` is the aligned end of a stack that is this call's alone and long enough for what is called, which
    // returns and does not unwind; below it is a guard. The register that holds the old stack pointer is one that functions keep.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!(
            "xchg rsp, r12",
            "call {function}",
            "mov rsp, r12",
            function = in(reg) function,
            in("rdi") argument,
            inout("r12") top => _,
            clobber_abi("C"),
        );
        #[cfg(target_arch = "aarch64")]
        asm!(
            "mov x20, sp",
            "mov sp, {top}",
            "blr {function}",
            "mov sp, x20",
            function = in(reg) function,
            top = in(reg) top,
            in("x0") argument,
            out("x20") _,
            clobber_abi("C"),
        );
    }
    // SAFETY: the set was filled by the call above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn notes_where(argument: *mut c_void) {
        let here = 0u8;
        // SAFETY: the test below gives the address of such a number.
        unsafe { *argument.cast::<usize>() = (&raw const here).addr() };
    }

    #[test]
    fn the_function_runs_on_the_given_stack_and_the_caller_goes_on_on_its_own() {
        let mut room = Room::new().expect("memory");
        let mut place = 0usize;
        let own = [7u64; 64];
        run(&mut room, notes_where, (&raw mut place).cast());
        let start = room.0.addr() + GUARD;
        assert!((start..start + ROOM).contains(&place), "{place:#x}");
        assert_eq!(std::hint::black_box(own), [7; 64]);
    }
}
