//! The exit codes of the program; 0 is success.

/// The work could not be done.
pub(crate) const FAILED: u8 = 2;
/// The run ended after Ctrl-C or SIGTERM. The number is the one that shells use: 128 + SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;
