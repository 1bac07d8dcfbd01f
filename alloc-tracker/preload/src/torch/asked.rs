//! What libtorch asks before it tells of an operator, answered by functions of its names, which the loader finds first. They leave out
//! what need not be told (`nested.rs`, `engine.rs`), by asking libtorch's own function for a kind of events for which nobody has a
//! callback. All that libtorch's types look like stays its own business.
//!
//! | function | who calls it |
//! |---|---|
//! | `at::getStepCallbacksUnlessEmpty` | each operator and each node: who wants to know? |
//! | `at::RecordFunction::RecordFunction` | the engine, Python's functions, compiled regions: the same |
//! | `at::RecordFunction::~RecordFunction` | all of these, at their end |
//! | `at::addGlobalCallback`, `at::addThreadLocalCallback` | somebody else who wants to know of operators |
use std::arch::naked_asm;
use std::ffi::{CStr, c_void};
use std::mem;

use super::libtorch::{RecordFunction, Watched};
use super::own::Own;
use super::{engine, nested, operators};

const FILE: &CStr = c"libtorch_cpu.so";
/// `RecordScope::CUSTOM_CLASS`, which neither operators nor nodes are of.
const NOBODYS: u8 = 4;

static CALLBACKS: Own = Own::new(c"_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE", FILE);
static MAKE: Own = Own::new(c"_ZN2at14RecordFunctionC1ENS_11RecordScopeE", FILE);
static DESTROY: Own = Own::new(c"_ZN2at14RecordFunctionD1Ev", FILE);
static ADD_GLOBAL: Own = Own::new(c"_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", FILE);
static ADD_LOCAL: Own = Own::new(c"_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE", FILE);

/// Leaves out what need not be told from now on, if libtorch asks here.
pub fn begin() {
    if CALLBACKS.was_called() {
        nested::begin();
    }
}

/// `at::getStepCallbacksUnlessEmpty(RecordScope)`. C++ returns a class, for which the caller brings the place.
///
/// # Safety
/// As for libtorch's own.
#[unsafe(export_name = "_ZN2at27getStepCallbacksUnlessEmptyENS_11RecordScopeE")]
pub unsafe extern "C-unwind" fn callbacks(result: *mut c_void, scope: u8) -> *mut c_void {
    type Ask = unsafe extern "C-unwind" fn(*mut c_void, u8) -> *mut c_void;
    let is_left_out = scope == Watched::Operators as u8 && nested::is_left_out();
    // SAFETY: libtorch's function of this name, which is there because somebody calls it.
    let own = unsafe { mem::transmute::<*mut c_void, Ask>(there(&CALLBACKS)) };
    // SAFETY: as the caller promises.
    unsafe { own(result, if is_left_out { NOBODYS } else { scope }) }
}

/// `at::RecordFunction::RecordFunction(RecordScope)`, with what the call returns to.
///
/// # Safety
/// As for libtorch's own.
#[unsafe(naked)]
#[unsafe(export_name = "_ZN2at14RecordFunctionC1ENS_11RecordScopeE")]
pub unsafe extern "C-unwind" fn record() {
    naked_asm!("mov rdx, [rsp]", "jmp {make}", make = sym make)
}

/// # Safety
/// As above; `place` is where the call returns to.
unsafe extern "C-unwind" fn make(record: *mut RecordFunction, scope: u8, place: usize) {
    type Make = unsafe extern "C-unwind" fn(*mut RecordFunction, u8);
    let is_event = scope == Watched::Operators as u8 && engine::is_made(record.addr(), place);
    // SAFETY: libtorch's function of this name.
    let own = unsafe { mem::transmute::<*mut c_void, Make>(there(&MAKE)) };
    // SAFETY: as the caller promises.
    unsafe { own(record, if is_event { NOBODYS } else { scope }) }
    if is_event {
        operators::engine_starts();
    }
}

/// `at::RecordFunction::~RecordFunction()`. It throws nothing.
///
/// # Safety
/// As for libtorch's own.
#[unsafe(export_name = "_ZN2at14RecordFunctionD1Ev")]
pub unsafe extern "C" fn destroy(record: *mut RecordFunction) {
    type Destroy = unsafe extern "C" fn(*mut RecordFunction);
    // SAFETY: libtorch's function of this name.
    let own = unsafe { mem::transmute::<*mut c_void, Destroy>(there(&DESTROY)) };
    // SAFETY: as the caller promises.
    unsafe { own(record) }
    if engine::is_destroyed(record.addr()) {
        operators::engine_ends();
    }
}

/// Defines a function that notes that somebody else has a callback, and goes on to libtorch's own with all that it was called with.
macro_rules! noted {
    ($(#[$doc:meta])* $name:ident, $symbol:literal, $own:ident) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// As for libtorch's own.
        #[unsafe(naked)]
        #[unsafe(export_name = $symbol)]
        pub unsafe extern "C-unwind" fn $name() {
            extern "C" fn note() -> *mut c_void {
                nested::others_came();
                there(&$own)
            }
            // What is handed over by value lies above the return address, and stays there.
            naked_asm!("push rdi", "call {note}", "pop rdi", "jmp rax", note = sym note)
        }
    };
}

noted!(
    /// `at::addGlobalCallback(RecordFunctionCallback)`.
    add_global, "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE", ADD_GLOBAL
);
noted!(
    /// `at::addThreadLocalCallback(RecordFunctionCallback)`.
    add_local, "_ZN2at22addThreadLocalCallbackENS_22RecordFunctionCallbackE", ADD_LOCAL
);

/// Where libtorch's own function is. One that is called was found by the loader, which has it only from us where no library has it.
fn there(own: &Own) -> *mut c_void {
    let address = own.address();
    if address.is_null() {
        std::process::abort();
    }
    address
}
