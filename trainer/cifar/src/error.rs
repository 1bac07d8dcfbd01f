//! Why a file cannot be read as CIFAR.
use std::io;

/// Why a file cannot be read as CIFAR. Offsets are bytes from the beginning of the file. The text names neither the file nor
/// what to do about it: the caller knows both.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CifarError {
    /// The file cannot be opened or read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file holds no images.
    #[error("empty: it has no bytes")]
    Empty,
    /// The file ends in the middle of an image.
    #[error("truncated: image {image} begins at byte {offset} and needs {needed} bytes, of which {got} are there")]
    Truncated {
        /// The image that is not whole; the first is 0.
        image: usize,
        /// Where it begins.
        offset: u64,
        /// Bytes of an image with its labels.
        needed: usize,
        /// Bytes of it that are there.
        got: usize,
    },
    /// The file goes on after the last image that a file of this set can have.
    #[error("longer than the {longest} bytes of the longest file of this set")]
    TooLong {
        /// Bytes of that file.
        longest: u64,
    },
    /// A label, or a group's, is not one of the set's.
    #[error("byte {offset}: {what} {found} of image {image}, and the set has {count} (0 to {last})", last = count - 1)]
    OutOfRange {
        /// Where the label is.
        offset: u64,
        /// `class` or `group`.
        what: &'static str,
        /// The label.
        found: u8,
        /// The image that it belongs to; the first is 0.
        image: usize,
        /// How many there are.
        count: u8,
    },
    /// A class of CIFAR-100 belongs to one group only.
    #[error(
        "byte {offset}: image {image} has class {class} in group {found}, and an image before it in group {before}"
    )]
    TwoGroups {
        /// Where the group's label is.
        offset: u64,
        /// The image; the first is 0.
        image: usize,
        /// Its class.
        class: u8,
        /// Its group.
        found: u8,
        /// The group in which an earlier image of the class is.
        before: u8,
    },
}
