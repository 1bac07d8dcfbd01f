//! What a step of any mode is.
use anyhow::Result;

use super::recording::Recording;
use crate::data::Batches;

/// A network in one mode, which can do one step after another.
pub(super) trait Step {
    /// Does one step. It makes its own batch, so that the data phase is part of the step. Returns the loss, if the mode
    /// has one.
    ///
    /// # Errors
    /// When libtorch fails.
    fn step(&mut self, batches: &mut Batches, recording: &Recording) -> Result<Option<f64>>;
}
