//! The trial: Python runs operators of which it knows all, and here is noted what libtorch calls meanwhile.
//!
//! Nothing of a record is read before it is known to lie in the stack of the thread that runs, below other functions' frames: all
//! words up to the stack's end are there then.
use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::mem;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::layout::{Places, Round, WORDS, Words};
use super::libtorch::{Libtorch, RecordFunction, Watched};
use super::objects::{self, Objects, Tensor};
use super::{devices, gradients, operators, storages, tensors};
use crate::memory::Asked;

/// The operator that Python runs, and its node. Both work on one element and start nothing: no thread, no library.
const NAMES: [&CStr; 2] = [c"aten::neg", c"NegBackward0"];

/// What is told after a trial, as a sum.
pub mod told {
    /// Operators, by name.
    pub const OPERATORS: u32 = 1;
    /// The layers of backward operators.
    pub const LAYERS: u32 = 2;
    /// What storages are for.
    pub const STORAGES: u32 = 4;
    /// Gradients.
    pub const GRADIENTS: u32 = 8;
}

thread_local! {
    /// Whether the next operator or node of this thread is the one that Python has announced.
    static IS_AWAITED: Cell<bool> = const { Cell::new(false) };
    /// The record of the announced one while it runs.
    static RUNNING: Cell<*const RecordFunction> = const { Cell::new(ptr::null()) };
}

static TRIAL: Mutex<Option<Trial>> = Mutex::new(None);

struct Trial {
    torch: Libtorch,
    /// The numbers of its callbacks.
    callbacks: [u64; 2],
    /// What this round has shown of the operator and of its node.
    seen: [Option<Seen>; 2],
    /// How many of both have ended in this round.
    ended: u32,
    /// Whether every round has shown an operator and its node by these names, from start to end.
    names_are_right: bool,
    places: Places,
    rounds: u32,
    tensors: objects::Places,
    /// What the last round has shown of tensors, if that is right.
    objects: Option<Objects>,
    /// Whether libtorch has asked for each gradient's hooks here.
    asks_for_hooks: bool,
}

/// A record, and who ran.
struct Seen {
    words: Words,
    thread: u64,
}

fn trial() -> MutexGuard<'static, Option<Trial>> {
    TRIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a trial.
///
/// # Errors
/// When libtorch cannot be watched; says why.
pub fn begin() -> Result<(), &'static CStr> {
    // Devices are told in any case.
    devices::begin();
    if cfg!(not(target_arch = "x86_64")) {
        return Err(c"this is known for x86-64 alone");
    }
    let torch = Libtorch::loaded()?;
    // The main thread has the number then that it would have without us.
    torch.thread();
    let mut trial = trial();
    if trial.is_some() {
        return Err(c"a trial runs already");
    }
    // SAFETY: the functions leave a null in `result` and return its address.
    let callbacks = unsafe {
        [torch.watch(Watched::Operators, operator_starts, ends), torch.watch(Watched::Nodes, node_starts, ends)]
    };
    *trial = Some(Trial {
        torch,
        callbacks,
        seen: [None, None],
        ended: 0,
        names_are_right: true,
        places: Places::new(),
        rounds: 0,
        tensors: objects::Places::new(),
        objects: None,
        asks_for_hooks: true,
    });
    Ok(())
}

/// The next operator or node of the calling thread is the round's.
pub fn look() {
    IS_AWAITED.set(true);
}

/// Ends a round, whose operator and node have this sequence number.
pub fn end_round(sequence: u64) {
    let mut trial = trial();
    let Some(trial) = trial.as_mut() else { return };
    trial.rounds += 1;
    let ended = mem::take(&mut trial.ended);
    let [Some(forward), Some(node)] = mem::take(&mut trial.seen) else {
        trial.names_are_right = false;
        return;
    };
    trial.names_are_right &= ended == 2;
    trial.places.narrow(&Round {
        forward: forward.words,
        forward_thread: forward.thread,
        node: node.words,
        node_thread: node.thread,
        sequence,
    });
}

/// The next variable of the calling thread that gets a gradient is the round's.
pub fn look_for_gradient() {
    gradients::look();
}

/// Ends a round, whose variable is this tensor, with a gradient whose memory begins at an address. All are alive.
pub fn end_gradient(variable: &Tensor, gradient: u64) {
    let seen = gradients::looked();
    let mut trial = trial();
    let Some(trial) = trial.as_mut() else { return };
    let memory = Asked::new();
    trial.tensors.narrow(variable, &memory);
    let objects = trial.tensors.objects(variable.kind);
    let Some((implementation, of_gradient)) = seen else {
        trial.asks_for_hooks = false;
        return;
    };
    trial.asks_for_hooks &= implementation == variable.implementation;
    trial.objects = objects.filter(|objects| objects.data(of_gradient, &memory) == Some(gradient));
}

/// Ends the trial, and has told from now on what it has shown to be right. Returns that, as a sum of [`told`].
pub fn end() -> u32 {
    let Some(trial) = trial().take() else { return 0 };
    for callback in trial.callbacks {
        // SAFETY: `watch` returned this number.
        unsafe { trial.torch.unwatch(callback) };
    }
    if trial.rounds == 0 || !trial.names_are_right {
        return 0;
    }
    let layout = trial.places.layout();
    operators::watch(trial.torch, layout);
    #[cfg(target_arch = "x86_64")]
    if trial.torch.counts_nodes() {
        super::asked::begin();
    }
    let layers = if layout.is_some() { told::LAYERS } else { 0 };
    let storages = if storages::watch() { told::STORAGES } else { 0 };
    let gradients = trial.objects.map_or(0, |objects| {
        tensors::begin(objects);
        if !trial.asks_for_hooks {
            return 0;
        }
        gradients::begin(objects);
        told::GRADIENTS
    });
    told::OPERATORS | layers | storages | gradients
}

unsafe extern "C" fn operator_starts(result: *mut usize, function: *const RecordFunction) -> *mut usize {
    // SAFETY: libtorch has called; `result` is the place of a pointer.
    unsafe { result.write(0) };
    starts(function, Watched::Operators);
    result
}

unsafe extern "C" fn node_starts(result: *mut usize, function: *const RecordFunction) -> *mut usize {
    // SAFETY: as above.
    unsafe { result.write(0) };
    starts(function, Watched::Nodes);
    result
}

fn starts(function: *const RecordFunction, watched: Watched) {
    if !IS_AWAITED.replace(false) {
        return;
    }
    let Some(words) = words_in_stack(function) else { return };
    let mut trial = trial();
    let Some(trial) = trial.as_mut() else { return };
    // SAFETY: libtorch has called with this record, which lies in the stack as records do.
    if unsafe { trial.torch.name(function) } != NAMES[watched as usize] {
        return;
    }
    trial.seen[watched as usize] = Some(Seen { words, thread: trial.torch.thread() });
    RUNNING.set(function);
}

unsafe extern "C" fn ends(function: *const RecordFunction, _context: *mut c_void) {
    let running = RUNNING.get();
    if running.is_null() || running != function {
        return;
    }
    RUNNING.set(ptr::null());
    if let Some(trial) = trial().as_mut() {
        trial.ended += 1;
    }
}

/// The first words of a record; `None` when they do not lie in this thread's stack, above the present frame.
fn words_in_stack(function: *const RecordFunction) -> Option<Words> {
    let here = 0_u8;
    let (at, lowest) = (function.addr(), (&raw const here).addr());
    let inside = at > lowest && at.checked_add(WORDS * size_of::<u64>())? <= stack_end()?;
    if !inside || !at.is_multiple_of(align_of::<u64>()) {
        return None;
    }
    // SAFETY: the words lie between this frame and the end of the same stack, all of which is mapped. Other frames own them, and
    // nobody writes to them while this thread is here.
    Some(unsafe { function.cast::<Words>().read() })
}

/// The address behind the stack of this thread.
fn stack_end() -> Option<usize> {
    // SAFETY: all zeros are valid attributes to be written to.
    let mut attributes: libc::pthread_attr_t = unsafe { mem::zeroed() };
    let (mut start, mut size) = (ptr::null_mut(), 0);
    // SAFETY: the thread is the calling one; the attributes are initialised by the first call and destroyed by the last.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) != 0 {
            return None;
        }
        let got = libc::pthread_attr_getstack(&raw const attributes, &raw mut start, &raw mut size);
        libc::pthread_attr_destroy(&raw mut attributes);
        if got != 0 {
            return None;
        }
    }
    start.addr().checked_add(size)
}
