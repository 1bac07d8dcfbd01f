//! How the stages of a pass run.

/// How all stages of a pass run.
#[derive(Clone, Copy)]
pub(super) struct How {
    /// Whether batch norm uses the batch's statistics, and dropout drops.
    pub(super) train: bool,
    /// Whether what can work in place does.
    pub(super) in_place: bool,
}
