//! Calls of an interpreted language, as its interpreter tells of them: to the unwinder, they all are one function of the
//! interpreter's. Who knows an interpreter (`alloc-tracker/preload/src/python`) announces it here.
//!
//! Below the frames of native code, a stack has those that the interpreter told of. Each is a number of 48 bits, whose meaning is the
//! announcer's, but for the uppermost bit: see [`OUTERMOST`].
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::code_map::ADDRESS_BITS;

/// The number that stands in place of a file's, in frames that an interpreter told of.
pub const NO_FILE: u64 = u16::MAX as u64;

/// Set in a frame that the interpreter's native function was called for. Those that follow are frames of other calls of that function.
pub const OUTERMOST: u64 = 1 << (ADDRESS_BITS - 1);

/// An interpreted function's call, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterpretedCall {
    /// The function, as its language names it.
    pub function: String,
    /// The source file, as the interpreter names it.
    pub file: String,
    /// The line at which the call is.
    pub line: Option<u32>,
}

/// What tells of an interpreter's calls.
#[derive(Debug)]
pub struct Interpreter {
    /// The language's name.
    pub language: &'static str,
    /// Writes the calling thread's frames, from the innermost on; returns how many, and whether there are more. It is called in the
    /// middle of an allocation, and must not allocate, wait, or panic. In a signal handler it may be called while it runs.
    pub frames: fn(&mut [u64]) -> (usize, bool),
    /// The call at such a frame; `None` for a frame that stands for none.
    pub call: fn(u64) -> Option<InterpretedCall>,
    /// Whether a native function of this name is the one that runs interpreted functions.
    pub runs: fn(&str) -> bool,
}

/// The interpreter; null while there is none.
static INTERPRETER: AtomicPtr<Interpreter> = AtomicPtr::new(ptr::null_mut());

/// Announces the process's interpreter. There is at most one; a later one takes the place of the one before.
pub fn announce(interpreter: &'static Interpreter) {
    INTERPRETER.store(ptr::from_ref(interpreter).cast_mut(), Ordering::Release);
}

/// The interpreter that was announced.
#[inline]
pub fn announced() -> Option<&'static Interpreter> {
    // SAFETY: the pointer is null or comes from a reference that holds for ever, through which nobody writes.
    unsafe { INTERPRETER.load(Ordering::Acquire).as_ref() }
}

/// Whether an interpreter told of the frame.
pub fn is_interpreted(frame: u64) -> bool {
    frame >> ADDRESS_BITS == NO_FILE
}
