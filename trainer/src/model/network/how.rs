//! How the stages of a pass run.

/// How all stages of a pass run.
#[derive(Clone, Copy)]
pub(super) struct How {
    /// Whether batch norm uses the batch's statistics, and dropout drops.
    pub(super) train: bool,
    /// Whether what can work in place does.
    pub(super) in_place: bool,
    /// What batch norm does with its running statistics in training.
    pub(super) statistics: Statistics,
}

/// What batch norm does with its running statistics in training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistics {
    /// They take in those of the batch.
    Updated,
    /// They stay: the stage has seen this batch before.
    Left,
}
