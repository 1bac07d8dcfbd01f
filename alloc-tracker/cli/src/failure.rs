//! What keeps a program from being recorded, with the exit code. The codes are those of `env`, `nice` and `timeout`, so that
//! they differ from those of most programs.

/// The tool could not do its work.
pub const NOT_DONE: u8 = 125;
/// The program was found and cannot be executed.
pub const NOT_EXECUTABLE: u8 = 126;
/// The program was not found.
pub const NOT_FOUND: u8 = 127;

/// An error with the exit code that tells of it.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// What went wrong, where, and what the user can do.
    pub error: anyhow::Error,
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure { code: NOT_DONE, error }
    }
}
