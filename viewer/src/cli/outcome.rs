//! The result of a command that could do its work.

/// What a command prints, and whether its answer is a good one.
pub(super) enum Outcome {
    /// The text to print. The exit code is 0.
    Fine(String),
    /// The text to print. A check failed, and the exit code is 1.
    Failed(String),
    /// The text to print of what could be done, and what could not. The exit code is 2.
    Incomplete {
        /// For standard output.
        text: String,
        /// For standard error.
        problems: anyhow::Error,
    },
}
