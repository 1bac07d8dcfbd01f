//! What `alloc-tracker/python/alloc_tracker/_frames.py` calls, to find out whether frames are told as Python itself tells them; and what
//! the tracker calls from then on. In the trial, all memory is read through the kernel.
use std::ffi::{CStr, CString, c_char};
use std::fmt::Write;
use std::ptr;
use std::sync::{Mutex, OnceLock};

use alloc_tracker::unaided::interpreter::{self, InterpretedCall, Interpreter, OUTERMOST};
use alloc_tracker::unaided::samples_stacks;

use super::layout::Layout;
use super::thread::Found;
use super::{call, walk};
use crate::memory::{Asked, Direct};

/// The most frames that a look tells of.
const MOST: usize = 512;

/// What the process has of CPython, and where its fields stand.
static KNOWN: OnceLock<(Found, Layout)> = OnceLock::new();
/// What the last look told.
static LOOKED: Mutex<Option<CString>> = Mutex::new(None);

static PYTHON: Interpreter = Interpreter { language: "Python", frames, call: call_at, runs };

/// Begins a trial. Null when it has begun; else says why not, in no words where nobody samples stacks. `hexversion`: `sys.hexversion`.
#[unsafe(no_mangle)]
pub extern "C" fn alloc_tracker_python_begin(hexversion: u32) -> *const c_char {
    let begun = if samples_stacks() { begin(hexversion) } else { Err(c"") };
    begun.map_or_else(CStr::as_ptr, |()| ptr::null())
}

fn begin(hexversion: u32) -> Result<(), &'static CStr> {
    if cfg!(not(target_pointer_width = "64")) {
        return Err(c"this is known for machines of 64 bits");
    }
    let found = Found::in_this_process(hexversion).ok_or(c"Python's functions are not found")?;
    let layout = Layout::of(hexversion, found.runtime)?;
    KNOWN.get_or_init(|| (found, layout));
    Ok(())
}

/// The calling thread's frames as they would be told, the innermost first. For each a function, a file, a line or 0, and whether it is
/// the outermost of its evaluation; each of the four ends with the character 0x1f. The text lives until the next look. Null when no
/// trial has begun.
#[unsafe(no_mangle)]
pub extern "C" fn alloc_tracker_python_look() -> *const c_char {
    let Some((found, layout)) = KNOWN.get() else { return ptr::null() };
    let mut frames = [0; MOST];
    let told = found.with_state(|state| walk::frames(&Asked::new(), layout, found.code_type, state, &mut frames).0);
    let mut text = String::new();
    for &frame in &frames[..told.unwrap_or(0)] {
        if let Some(InterpretedCall { function, file, line }) = call::call(frame, layout.lines) {
            let (line, outermost) = (line.unwrap_or(0), u8::from(frame & OUTERMOST != 0));
            // Writing to a string cannot fail.
            let _ = write!(text, "{function}\x1f{file}\x1f{line}\x1f{outermost}\x1f");
        }
    }
    let (Ok(text), Ok(mut looked)) = (CString::new(text), LOOKED.lock()) else { return ptr::null() };
    looked.insert(text).as_ptr()
}

/// Ends a trial that has shown frames to be right: from now on, samples have them.
#[unsafe(no_mangle)]
pub extern "C" fn alloc_tracker_python_tell() {
    if KNOWN.get().is_some() {
        interpreter::announce(&PYTHON);
    }
}

/// To be called before memory of the interpreter's is unmapped, by the thread that holds the lock.
pub fn before_unmapping() {
    if let Some((found, _)) = KNOWN.get() {
        found.wait_for_readers();
    }
}

fn frames(into: &mut [u64]) -> (usize, bool) {
    let Some((found, layout)) = KNOWN.get() else { return (0, false) };
    let told = found.with_state(|state| {
        // SAFETY: the trial has shown where the addresses stand, and what is behind them holds still: `with_state` says so.
        let memory = unsafe { Direct::new() };
        walk::frames(memory, layout, found.code_type, state, into)
    });
    told.unwrap_or((0, false))
}

fn call_at(frame: u64) -> Option<InterpretedCall> {
    let (_, layout) = KNOWN.get()?;
    call::call(frame, layout.lines)
}

/// All versions' function of this name runs a function; what the compiler made a part of its own has a name that goes on.
fn runs(function: &str) -> bool {
    const NAME: &str = "_PyEval_EvalFrameDefault";
    function.strip_prefix(NAME).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::runs;

    #[test]
    fn a_part_of_the_function_is_the_function() {
        assert!(runs("_PyEval_EvalFrameDefault") && runs("_PyEval_EvalFrameDefault.cold"));
        assert!(!runs("_PyEval_EvalFrameDefaultly") && !runs("_PyEval_Vector"));
    }
}
