//! From files on disk to batches of tensors.
//!
//! Images: `source` tells which kind of data set a folder holds, and `idx`, `cifar` and `image_folder` read one kind each;
//! `dataset` is the images of any of them, `image_batches` makes tensors of them. Texts: see `text`. `order` says which come
//! next, `portions` deals them out by day.
mod error;
mod images;
mod split;

mod labels;
mod source;

mod cifar;
mod idx;
mod image_folder;

mod dataset;
mod order;

mod portions;

mod batch;

mod image_batches;
mod text;

mod batches;

pub use self::batch::Batch;
pub use self::batches::Batches;
pub use self::dataset::Dataset;
pub use self::image_batches::ImageBatches;
pub use self::portions::{Dealt, Portions};
pub use self::split::Split;
pub use self::text::{Corpus, Passages, TextBatches, TextLabels, TextTokens, Texts};
