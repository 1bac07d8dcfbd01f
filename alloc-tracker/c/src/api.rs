//! The table of functions, and what each promises. cbindgen makes the first half of the header of this file and of those it
//! names.
use std::ffi::{c_char, c_int, c_void};

use crate::scopes::Scope;
use crate::{blocks, scopes, session};

/// The library's functions. The functions of this header call them where the library is there, and do nothing where it is not.
///
/// A later version has more of them at the end, and a larger `version`.
#[repr(C)]
pub struct Api {
    /// 1.
    pub version: u32,
    /// Enters a phase on the calling thread, such as `"forward"`: what the thread allocates from now on belongs to it.
    pub enter_phase: unsafe extern "C" fn(name: *const c_char) -> Scope,
    /// Enters a layer on the calling thread. Within another layer, `path` is appended to that layer's path, after a dot.
    pub enter_layer: unsafe extern "C" fn(path: *const c_char) -> Scope,
    /// Enters a layer by its whole path, whatever layer it is within.
    pub enter_layer_alone: unsafe extern "C" fn(path: *const c_char) -> Scope,
    /// Enters an operator on the calling thread, such as `"MUL_MAT"`. Within another operator nothing is entered: memory belongs
    /// to the outermost. A block that is freed in the call that allocated it is workspace.
    pub enter_op: unsafe extern "C" fn(name: *const c_char) -> Scope,
    /// Leaves a scope, and all that was entered in it and not left. On the thread that entered it.
    pub leave: extern "C" fn(scope: Scope),
    /// Says what the block is for that starts at `block`, for its whole life. A block that was allocated in no layer becomes
    /// `layer`'s, unless that is null. False when it cannot be labelled: nothing records, no tracked block starts there, or it
    /// has less than 64 bytes.
    pub label: unsafe extern "C" fn(block: *mut c_void, category: u32, layer: *const c_char) -> bool,
    /// Begins a training step, and ends the one before. The timeline has the peak of each step.
    pub begin_step: extern "C" fn(),
    /// Ends the step.
    pub end_step: extern "C" fn(),
    /// Adds a named instant to the timeline, with the bytes that are live.
    pub mark: unsafe extern "C" fn(name: *const c_char),
    /// Adds a named instant with the table of who owns which bytes.
    pub snapshot: unsafe extern "C" fn(name: *const c_char),
    /// Adds a fact about the run, such as `"batch"`, `"32"`.
    pub fact: unsafe extern "C" fn(key: *const c_char, value: *const c_char),
    /// Writes a copy of the timeline so far beside it. 0: done; 1: nothing records; 2: it cannot be written, and stderr says why.
    pub dump: extern "C" fn() -> c_int,
    /// Starts to record into the file `output`, in which `%p` stands for the process id; into `run.timeline.json` for
    /// null. 0: done; 1: something records already, such as `alloc-tracker record`; 2: it cannot be written, and stderr says why.
    pub start: unsafe extern "C" fn(output: *const c_char) -> c_int,
    /// Writes the timeline of the recording that `start` began; without it, the end of the process does. 0: done; 1: there is
    /// none; 2: it cannot be written, and stderr says why.
    pub finish: extern "C" fn() -> c_int,
    /// Whether this process is recorded.
    pub is_recording: extern "C" fn() -> bool,
}

static API: Api = Api {
    version: 1,
    enter_phase: scopes::enter_phase,
    enter_layer: scopes::enter_layer,
    enter_layer_alone: scopes::enter_layer_alone,
    enter_op: scopes::enter_op,
    leave: scopes::leave,
    label: blocks::label,
    begin_step: session::begin_step,
    end_step: session::end_step,
    mark: session::mark,
    snapshot: session::snapshot,
    fact: session::fact,
    dump: session::dump,
    start: session::start,
    finish: session::finish,
    is_recording: session::is_recording,
};

/// Keeps the linker from dropping the function below from a shared library.
#[used]
static PINNED: extern "C" fn() -> &'static Api = alloc_tracker_api;

/// The functions of this library.
#[unsafe(no_mangle)]
pub extern "C" fn alloc_tracker_api() -> &'static Api {
    &API
}
