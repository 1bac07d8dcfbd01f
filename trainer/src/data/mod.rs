//! From files on disk to batches of tensors.
//!
//! `source` tells which kind of data set a folder holds, and `idx`, `cifar` and `image_folder` read one kind each. `dataset` is
//! the images of any of them, `order` says which come next, `batch` makes tensors of them.
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

mod batch;

pub use self::batch::Batches;
pub use self::dataset::Dataset;
pub use self::split::Split;
