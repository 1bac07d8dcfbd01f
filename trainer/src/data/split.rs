//! The two parts of a data set.

/// The part of a data set that is kept for training, or for testing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// What the data set has for training.
    Train,
    /// What it has for testing; where it has nothing, the training part.
    Test,
}
