//! Batches of either kind of data.
use tch::Result;

use super::batch::Batch;
use super::image_batches::ImageBatches;
use super::text::TextBatches;

/// An endless sequence of batches.
#[derive(Debug)]
pub enum Batches {
    /// Of images.
    Images(ImageBatches),
    /// Of passages of texts.
    Texts(TextBatches),
}

impl Batches {
    /// Makes the next batch.
    ///
    /// # Errors
    /// When libtorch fails.
    pub fn next_batch(&mut self) -> Result<Batch> {
        match self {
            Batches::Images(images) => images.next_batch(),
            Batches::Texts(texts) => texts.next_batch(),
        }
    }
}
