//! The scopes that a thread has entered and not yet left.
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicUsize, Ordering, compiler_fence};

use alloc_replay::ScopeId;

/// How deep scopes may nest. A scope at a greater depth is not entered.
const MAX_DEPTH: usize = 256;

/// Identifies one entry into a scope; it is needed to leave that scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered {
    depth: usize,
    serial: u32,
}

impl Entered {
    /// Depth and serial number, for whoever keeps an entry outside of Rust.
    pub fn numbers(self) -> (u16, u32) {
        (self.depth as u16, self.serial)
    }

    /// The entry of these [`numbers`](Self::numbers). Numbers of no entry are those of one that was left.
    pub fn of_numbers((depth, serial): (u16, u32)) -> Self {
        Entered { depth: depth.into(), serial }
    }
}

/// The scope that was active before an entry, and the serial number of the entry.
struct Frame {
    outer: AtomicU16,
    serial: AtomicU32,
}

/// One thread's stack of scopes; its signal handlers use it as well.
#[repr(C)]
pub struct ScopeStack {
    depth: AtomicUsize,
    /// The serial number of the latest entry: it distinguishes entries of the same depth.
    serial: AtomicU32,
    frames: [Frame; MAX_DEPTH],
}

impl ScopeStack {
    /// Forgets all entries.
    pub fn clear(&self) {
        self.depth.store(0, Ordering::Relaxed);
    }

    /// Notes that a scope is entered while `outer` is the active one. `None` when the stack is full.
    pub fn push(&self, outer: ScopeId) -> Option<Entered> {
        let depth = self.depth.load(Ordering::Relaxed);
        let frame = self.frames.get(depth)?;
        // The depth grows before the frame is written, so that a signal handler that enters a scope here takes the next
        // frame.
        self.depth.store(depth + 1, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        let serial = self.serial.load(Ordering::Relaxed).wrapping_add(1);
        self.serial.store(serial, Ordering::Relaxed);
        frame.outer.store(outer, Ordering::Relaxed);
        frame.serial.store(serial, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        Some(Entered { depth, serial })
    }

    /// Gives all scopes that were entered other numbers.
    pub fn renumber(&self, own: impl Fn(ScopeId) -> ScopeId) {
        for frame in self.frames.iter().take(self.depth.load(Ordering::Relaxed)) {
            frame.outer.store(own(frame.outer.load(Ordering::Relaxed)), Ordering::Relaxed);
        }
    }

    /// Leaves the scope of `entered`, and with it all scopes that were entered after it and never left (because a guard
    /// was leaked, or a longjmp skipped it). `restore` is called with the scope that was active before. Does nothing if
    /// the scope of `entered` was already left together with one outside of it. Returns whether it was left now.
    pub fn pop(&self, entered: Entered, restore: impl FnOnce(ScopeId)) -> bool {
        let Some(frame) = self.frames.get(entered.depth) else { return false };
        let is_entered = entered.depth < self.depth.load(Ordering::Relaxed);
        if !is_entered || frame.serial.load(Ordering::Relaxed) != entered.serial {
            return false;
        }
        // The depth shrinks after the frame was read, for the same reason as in `push`.
        restore(frame.outer.load(Ordering::Relaxed));
        compiler_fence(Ordering::SeqCst);
        self.depth.store(entered.depth, Ordering::Relaxed);
        true
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    /// Scopes are entered in scope 3 and in scope 4, and a third one in scope 5 was left. Then all numbers become higher by 100.
    #[test]
    fn scopes_that_were_entered_get_other_numbers() {
        // SAFETY: a stack is made of atomics, for all of which zeroes are values.
        let stack = unsafe { Box::<ScopeStack>::new_zeroed().assume_init() };
        let [outer, inner, left] = [3, 4, 5].map(|scope| stack.push(scope).expect("it is not full"));
        stack.pop(left, |_| ());
        stack.renumber(|scope| scope + 100);
        let restored = RefCell::new(Vec::new());
        for entered in [inner, outer] {
            stack.pop(entered, |scope| restored.borrow_mut().push(scope));
        }
        assert_eq!(restored.take(), [104, 103]);
        assert_eq!(stack.frames[2].outer.load(Ordering::Relaxed), 5, "what was left keeps its number");
    }
}
