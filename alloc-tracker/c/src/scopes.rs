//! Phases, layers and operators.
use std::ffi::c_char;
use std::sync::atomic::{AtomicU64, Ordering};

use alloc_tracker::hooks::{self, Entered, Name};

use crate::text;

/// An entered scope, to be left on the same thread. Its content is the library's; all zeroes where the library is not there.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// The library's.
    pub numbers: [u64; 2],
}

impl From<Entered> for Scope {
    fn from(entered: Entered) -> Self {
        Scope { numbers: entered.numbers() }
    }
}

/// The number of the next call of an operator. `alloc-torch-core` counts its calls from 1 on; no program comes to 2^62.
static NEXT_CALL: AtomicU64 = AtomicU64::new(1 << 62);

/// # Safety
/// `name` is null or a C string.
pub unsafe extern "C" fn enter_phase(name: *const c_char) -> Scope {
    // SAFETY: as the caller promises.
    hooks::enter_phase(&unsafe { text::read(name) }).into()
}

/// # Safety
/// `path` is null or a C string.
pub unsafe extern "C" fn enter_layer(path: *const c_char) -> Scope {
    // SAFETY: as the caller promises.
    hooks::enter_layer(&unsafe { text::read(path) }).into()
}

/// # Safety
/// `path` is null or a C string.
pub unsafe extern "C" fn enter_layer_alone(path: *const c_char) -> Scope {
    // SAFETY: as the caller promises.
    hooks::enter_layer_alone(&unsafe { text::read(path) }).into()
}

/// # Safety
/// `name` is null or a C string.
pub unsafe extern "C" fn enter_op(name: *const c_char) -> Scope {
    if hooks::is_in_op() {
        return Entered::nothing().into();
    }
    // SAFETY: as the caller promises.
    let name = hooks::name(&unsafe { text::read(name) });
    hooks::enter_op(name, None, Name::default(), NEXT_CALL.fetch_add(1, Ordering::Relaxed)).into()
}

pub extern "C" fn leave(scope: Scope) {
    hooks::leave(Entered::of_numbers(scope.numbers));
}
