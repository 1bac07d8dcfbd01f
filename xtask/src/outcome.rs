//! How a command ends when it could do its work.

/// How a command ended when it could do its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is as it should be: exit code 0.
    Fine,
    /// A test or a gate said no: exit code 1.
    CheckFailed,
}
