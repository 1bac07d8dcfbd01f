//! How this process is tracked, decided at its first allocation: `ALLOC_TRACKER=off` switches the tracker off,
//! `ALLOC_TRACKER=exact` has it put every single block into order.
use std::sync::atomic::{AtomicU8, Ordering};

/// The switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Straight to the backend: nothing is tagged or counted.
    Off = 1,
    /// Everything is; small blocks reach the recorder in batches.
    On = 2,
    /// Every block reaches the recorder as an event of its own, so that nothing is uncertain about a peak.
    Exact = 3,
}

impl Mode {
    /// The word for it, in the environment and in the file.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Off => "off",
            Mode::On => "on",
            Mode::Exact => "exact",
        }
    }
}

static MODE: AtomicU8 = AtomicU8::new(0);

/// The mode of this process.
#[inline]
pub fn mode() -> Mode {
    match MODE.load(Ordering::Relaxed) {
        1 => Mode::Off,
        2 => Mode::On,
        3 => Mode::Exact,
        _ => decide(),
    }
}

/// Whether every block is an event of its own.
#[inline]
pub fn exact() -> bool {
    mode() == Mode::Exact
}

#[cold]
fn decide() -> Mode {
    let mode = match environment(c"ALLOC_TRACKER").map(std::ffi::CStr::to_bytes) {
        Some(b"off") => Mode::Off,
        Some(b"exact") => Mode::Exact,
        _ => Mode::On,
    };
    MODE.store(mode as u8, Ordering::Relaxed);
    mode
}

/// The value of an environment variable, for decisions that are made at the first allocation.
pub fn environment(name: &std::ffi::CStr) -> Option<&'static std::ffi::CStr> {
    // SAFETY: getenv only reads the environment; nobody changes it before the first allocation of the process.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: a non-null result is a NUL-terminated string in the environment block, which stays until somebody changes
    // that variable; the caller looks at it at once.
    (!value.is_null()).then(|| unsafe { std::ffi::CStr::from_ptr(value) })
}
