//! From IDX files on disk to batches of tensors.
//!
//! `dataset` reads images and labels and pairs them, `order` says which images come next, `batch` makes tensors of them.
mod error;

mod dataset;
mod order;

mod batch;

pub use self::batch::Batches;
pub use self::dataset::{Dataset, Split};
