//! Whether this process is tracked, decided at its first allocation: `ALLOC_TRACKER=off` switches the tracker off.
use std::sync::atomic::{AtomicU8, Ordering};

/// The switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Straight to the backend: nothing is tagged or counted.
    Off = 1,
    /// Everything is.
    On = 2,
}

static MODE: AtomicU8 = AtomicU8::new(0);

/// The mode of this process.
#[inline]
pub fn mode() -> Mode {
    match MODE.load(Ordering::Relaxed) {
        1 => Mode::Off,
        2 => Mode::On,
        _ => decide(),
    }
}

#[cold]
fn decide() -> Mode {
    // SAFETY: getenv only reads the environment; nobody changes it before the first allocation of the process.
    let value = unsafe { libc::getenv(c"ALLOC_TRACKER".as_ptr()) };
    // SAFETY: a non-null result is a NUL-terminated string in the environment block.
    let off = !value.is_null() && unsafe { std::ffi::CStr::from_ptr(value) } == c"off";
    let mode = if off { Mode::Off } else { Mode::On };
    MODE.store(mode as u8, Ordering::Relaxed);
    mode
}
