//! Whose frames a thread may read: those of its own thread state, which only it changes. It need not hold the interpreter's lock for
//! that, as PyTorch does not while an operator runs.
//!
//! While the interpreter ends, states and frames of other threads are freed. From then on nobody reads any, and memory that
//! frames were in is unmapped only when those who had begun are through ([`wait_for_readers`]).
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::loaded::find;

type State = unsafe extern "C" fn() -> *mut c_void;
type IsFinalizing = unsafe extern "C" fn() -> c_int;

/// CPython's functions and data, as the loader finds them.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// `PyGILState_GetThisThreadState`: the state that this thread got first, in the thread library's storage.
    own: State,
    /// `PyThreadState_GetUnchecked`: the state of whoever holds the lock, before 3.12; from then on the one with which this thread does.
    current: State,
    is_finalizing: IsFinalizing,
    /// Whether `current` is this thread's.
    current_is_own: bool,
    /// Where `PyCode_Type` is.
    pub code_type: u64,
    /// Where `_PyRuntime` is.
    pub runtime: u64,
}

/// Threads that read their frames without the lock.
static READERS: AtomicU32 = AtomicU32::new(0);
/// Set when one of them did not come to an end.
static GAVE_UP: AtomicBool = AtomicBool::new(false);
/// How long is waited for them. A frame takes less than a microsecond.
const PATIENCE: Duration = Duration::from_millis(20);

impl Found {
    /// What the process has of CPython; `None` in another program, and where one lacks something.
    pub fn in_this_process(hexversion: u32) -> Option<Found> {
        let current = find(c"PyThreadState_GetUnchecked").or_else(|| find(c"_PyThreadState_UncheckedGet"))?;
        let is_finalizing = find(c"Py_IsFinalizing").or_else(|| find(c"_Py_IsFinalizing"))?;
        let own = find(c"PyGILState_GetThisThreadState")?;
        let (code_type, runtime) = find(c"PyCode_Type").zip(find(c"_PyRuntime"))?;
        // SAFETY: the functions have these types in all versions from 3.8 on.
        let (own, current, is_finalizing) = unsafe {
            (
                std::mem::transmute::<*mut c_void, State>(own),
                std::mem::transmute::<*mut c_void, State>(current),
                std::mem::transmute::<*mut c_void, IsFinalizing>(is_finalizing),
            )
        };
        let current_is_own = hexversion >= 0x030c_0000;
        let [code_type, runtime] = [code_type, runtime].map(|found| found.addr() as u64);
        Some(Found { own, current, is_finalizing, current_is_own, code_type, runtime })
    }

    /// Gives `read` the address of the state that this thread runs with, whose frames hold still meanwhile; `None` when it has none.
    pub fn with_state<T>(&self, read: impl FnOnce(u64) -> T) -> Option<T> {
        // SAFETY: it reads the runtime's data and the thread library's storage, and may be called at any time. It allocates nothing.
        let own = unsafe { (self.own)() };
        if own.is_null() {
            return None;
        }
        // SAFETY: it reads a word: the runtime's, or one of this thread's, which is there since the thread has had a state.
        let current = unsafe { (self.current)() };
        let state = if self.current_is_own && !current.is_null() { current } else { own };
        let has_lock = current == state;
        if !has_lock {
            READERS.fetch_add(1, Ordering::SeqCst);
        }
        // SAFETY: it reads a word of the runtime's.
        let is_ending = unsafe { (self.is_finalizing)() } != 0;
        let result = (!is_ending).then(|| read(state.addr() as u64));
        if !has_lock {
            READERS.fetch_sub(1, Ordering::SeqCst);
        }
        result
    }

    /// To be called by the thread that holds the lock, before memory of the interpreter's is unmapped: while the interpreter ends, waits for
    /// threads that read their frames without it.
    pub fn wait_for_readers(&self) {
        // SAFETY: it reads a word of the runtime's.
        if unsafe { (self.is_finalizing)() } == 0 || GAVE_UP.load(Ordering::Relaxed) {
            return;
        }
        let begin = Instant::now();
        while READERS.load(Ordering::SeqCst) > 0 {
            if begin.elapsed() > PATIENCE {
                // One left its sample by `longjmp`, or was in it when its process was forked.
                return GAVE_UP.store(true, Ordering::Relaxed);
            }
            std::thread::yield_now();
        }
    }
}
