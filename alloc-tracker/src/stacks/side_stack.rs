//! The side stack: a stack of the tracker's own, on which a function can be run. Finding callers takes up to 14 KiB of
//! stack, or 58 KiB in a debug build, and a signal handler or a thread may have hardly more stack than its own work
//! needs.
//!
//! All signals are blocked meanwhile, so that no signal handler of the program runs on the side stack.
use std::mem::MaybeUninit;
use std::ptr;

use crate::sys;

/// Bytes of a side stack. A page of it becomes resident when it is first touched.
const STACK_BYTES: usize = 256 * 1024;
/// Bytes below it that are protected, so that an overflow ends the process instead of writing into other memory.
const GUARD_BYTES: usize = 64 * 1024;

/// A side stack; it is never unmapped.
#[derive(Debug)]
pub struct SideStack(*mut u8);

// SAFETY: the pointer is to a mapping that only this value uses (`SideStack::new`), on whichever thread it is.
unsafe impl Send for SideStack {}

impl SideStack {
    /// A new stack; `None` when the kernel gives no memory.
    pub fn new() -> Option<Self> {
        let start = sys::map_zeroed(GUARD_BYTES + STACK_BYTES);
        // SAFETY: the pages were mapped just now, and nothing but this function knows of them.
        let guarded = !start.is_null() && unsafe { libc::mprotect(start.cast(), GUARD_BYTES, libc::PROT_NONE) } == 0;
        guarded.then_some(SideStack(start))
    }

    /// Runs `work`, which must not panic, on this stack. `None`, without running it, when signals cannot be blocked.
    pub fn run<T>(&mut self, work: impl FnOnce() -> T) -> Option<T> {
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: both sets are valid for writing; sigfillset fills the first before pthread_sigmask reads it.
        let blocked = unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr()) == 0
        };
        if !blocked {
            return None;
        }
        let base = self.0.wrapping_add(GUARD_BYTES);
        // SAFETY: STACK_BYTES bytes of memory follow `base` (`SideStack::new`), and no other call uses them, since this
        // one has the unique reference. Both ends are aligned to pages. The caller promises that `work` does not
        // unwind.
        let result = unsafe { psm::on_stack(base, STACK_BYTES, work) };
        // SAFETY: the first call of pthread_sigmask succeeded and has filled the set.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
        Some(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_runs_on_the_side_stack_and_the_caller_goes_on_on_its_own() {
        let mut stack = SideStack::new().expect("memory");
        let own = [7u64; 64];
        let here = stack.run(|| {
            let here = 0u8;
            (&raw const here).addr()
        });
        let start = stack.0.addr() + GUARD_BYTES;
        assert!(here.is_some_and(|here| (start..start + STACK_BYTES).contains(&here)), "{here:#x?}");
        assert_eq!(std::hint::black_box(own), [7; 64]);
    }
}
