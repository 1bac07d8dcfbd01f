//! How this process is tracked: `ALLOC_TRACKER=off` switches the tracker off, `ALLOC_TRACKER=exact` makes every block an
//! event of its own.
use std::sync::atomic::{AtomicU8, Ordering};

use super::environment::variable;

/// How the process is tracked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// All calls go straight to the backend: nothing is tagged or counted.
    Off = 1,
    /// All blocks are tagged and counted; small ones reach the recorder in batches.
    On = 2,
    /// Every block reaches the recorder as an event of its own, so that peaks are known without uncertainty.
    Exact = 3,
}

impl Mode {
    /// The mode's word in the environment and in the file.
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
    let mode = match variable(c"ALLOC_TRACKER").map(std::ffi::CStr::to_bytes) {
        Some(b"off") => Mode::Off,
        Some(b"exact") => Mode::Exact,
        _ => Mode::On,
    };
    MODE.store(mode as u8, Ordering::Relaxed);
    mode
}
