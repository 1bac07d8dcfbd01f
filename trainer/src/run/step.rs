//! What a step of any kind of run is.
use anyhow::Result;

use super::recording::Recording;

/// What a step says of itself, each figure by its name, in the order in which they are printed: `("loss", 2.31)`. All steps
/// of a run have the same names.
pub(super) type Figures = Vec<(&'static str, f64)>;

/// What a run does over and over. It owns all that it needs: its networks, what updates them, and where its batches come
/// from.
pub(super) trait Step {
    /// Does one step. It makes its own batch, so that the data phase is part of the step.
    ///
    /// # Errors
    /// When libtorch fails.
    fn step(&mut self, recording: &Recording) -> Result<Figures>;

    /// What is done when so many steps are done, outside of any step: before the first one, with 0, and behind each. Returns the
    /// share of the held-out images that are told right, when it was measured.
    ///
    /// # Errors
    /// When libtorch fails, or a file cannot be written.
    fn between(&mut self, _done: u64) -> Result<Option<f64>> {
        Ok(None)
    }
}
