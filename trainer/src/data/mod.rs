//! From files on disk to batches of tensors.
//!
//! Images: `dataset` reads images and labels and pairs them, `image_batches` makes tensors of them. Texts: see `text`. `order`
//! says which come next.
mod error;

mod dataset;
mod order;

mod batch;

mod image_batches;
mod text;

mod batches;

pub use self::batches::Batches;
pub use self::dataset::{Dataset, Split};
pub use self::image_batches::ImageBatches;
pub use self::text::{Corpus, Passages, TextBatches, TextLabels, TextTokens, Texts};
