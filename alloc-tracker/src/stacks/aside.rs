//! Runs a function on a stack of the tracker's: signal handlers and threads may have hardly more stack than they need
//! themselves, and finding a caller takes 6 KiB.
//!
//! All signals wait meanwhile, so that no handler of the program finds itself on a stack that is not its thread's.
use std::arch::asm;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

/// Room for such a stack, in units of its alignment.
pub const ROOM: usize = 32 * 1024 / size_of::<u128>();

/// Calls `function` with `argument`, on the stack `room`.
pub fn run(room: &mut [u128], function: extern "C" fn(*mut c_void), argument: *mut c_void) {
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
    let top = room.as_mut_ptr_range().end;
    // SAFETY: `top` is the aligned end of a stack that is this call's alone and long enough for what is called, which
    // returns and does not unwind. The register that holds the old stack pointer is one that functions keep.
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
        let mut room = vec![0u128; ROOM];
        let mut place = 0usize;
        let own = [7u64; 64];
        run(&mut room, notes_where, (&raw mut place).cast());
        let range = room.as_ptr_range();
        assert!((range.start.addr()..range.end.addr()).contains(&place), "{place:#x}");
        assert_eq!(std::hint::black_box(own), [7; 64]);
    }
}
