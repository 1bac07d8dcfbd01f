//! From IDX files on disk to batches of tensors.
//!
//! `idx` reads one file, `dataset` pairs images with labels, `order` says which images come next, `batch` makes
//! tensors of them.
mod batch;
mod dataset;
mod idx;
mod order;

pub use batch::{Batch, Batches};
pub use dataset::{Dataset, Part};

use std::path::PathBuf;

/// Why the data cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// No such folder.
    #[error("{folder}: there is no such data folder; give one that holds IDX files with --data DIR", folder = .0.display())]
    NoFolder(PathBuf),
    /// The folder is there, the file is not.
    #[error(
        "{folder}: neither {name} nor {name}.gz is in the folder; give one that holds Fashion-MNIST or MNIST with \
         --data DIR", folder = folder.display()
    )]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// The file's name without `.gz`.
        name: &'static str,
    },
    /// The file cannot be opened, read or unpacked.
    #[error("{path}: cannot be read: {reason}; check that it is readable, or fetch it again", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system or the decompressor said.
        reason: std::io::Error,
    },
    /// The first four bytes are not those of an IDX file of bytes.
    #[error(
        "{path}: not an IDX file of bytes: it begins with {found:02x?}, not with 00 00 08 and a number of dimensions; \
         give the folder of the original files with --data DIR", path = path.display()
    )]
    NotIdx {
        /// The file.
        path: PathBuf,
        /// What it begins with.
        found: Vec<u8>,
    },
    /// Labels where images should be, or the other way round.
    #[error(
        "{path}: {expected} dimension(s) expected, {found} found; images have 3 and labels 1, so perhaps two files \
         were swapped", path = path.display()
    )]
    WrongDimensions {
        /// The file.
        path: PathBuf,
        /// Dimensions wanted.
        expected: u8,
        /// Dimensions in the header.
        found: u8,
    },
    /// It ends too early.
    #[error(
        "{path}: truncated: expected {expected} bytes, got {got} (unpacked); fetch the file again",
        path = path.display()
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes that the header promises, with the header.
        expected: u64,
        /// Bytes there are.
        got: u64,
    },
    /// It goes on after its end.
    #[error(
        "{path}: longer than the {expected} bytes (unpacked) that its header promises; fetch the file again",
        path = path.display()
    )]
    TooLong {
        /// The file.
        path: PathBuf,
        /// Bytes that the header promises, with the header.
        expected: u64,
    },
    /// No image in it, or images without pixels.
    #[error("{path}: empty: its header says {dims:?}; give a folder with images with --data DIR", path = path.display())]
    Empty {
        /// The file.
        path: PathBuf,
        /// Sizes in the header.
        dims: Vec<u32>,
    },
    /// One label per image is needed.
    #[error(
        "{images} holds {image_count} images, {labels} holds {label_count} labels; the two files do not belong \
         together, fetch both again", images = images.display(), labels = labels.display()
    )]
    CountMismatch {
        /// The images' file.
        images: PathBuf,
        /// How many images.
        image_count: u64,
        /// The labels' file.
        labels: PathBuf,
        /// How many labels.
        label_count: u64,
    },
    /// The network has no output for a label.
    #[error(
        "{path}: label {label} found, but the network tells only {classes} classes apart (0 to {last}); give \
         --classes {needed} or more", path = path.display(), last = classes - 1, needed = u64::from(*label) + 1
    )]
    LabelTooLarge {
        /// The labels' file.
        path: PathBuf,
        /// The largest label.
        label: u8,
        /// Classes of the network.
        classes: u64,
    },
}
