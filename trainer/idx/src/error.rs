//! Why a file cannot be read as IDX.
use std::io;

/// Why a file cannot be read as IDX. The text names neither the file nor what to do about it: the caller knows both.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IdxError {
    /// The file cannot be opened, read or unpacked.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The first four bytes are not those of an IDX file of bytes.
    #[error("not an IDX file of bytes: it begins with {found:02x?}, not with 00 00 08 and a number of dimensions")]
    NotIdx {
        /// What the file begins with: four bytes, or fewer if there are no more.
        found: Vec<u8>,
    },
    /// The file holds labels where images should be, or the other way round.
    #[error("{expected} dimension(s) expected, {found} found")]
    WrongDimensions {
        /// The number of dimensions that was asked for.
        expected: u8,
        /// The number of dimensions in the header.
        found: u8,
    },
    /// The file ends too early.
    #[error("truncated: expected {expected} bytes, got {got} (unpacked)")]
    Truncated {
        /// Unpacked bytes that the header promises, those of the header among them.
        expected: u64,
        /// Unpacked bytes that are there.
        got: u64,
    },
    /// All elements are there, but the gzip stream ends before the checksum that follows them.
    #[error(
        "truncated: the gzip stream breaks off behind the last of {expected} bytes (unpacked), before its checksum ends"
    )]
    NoChecksum {
        /// Unpacked bytes that the header promises, those of the header among them.
        expected: u64,
    },
    /// The file goes on after its last element.
    #[error("longer than the {expected} bytes (unpacked) that its header promises")]
    TooLong {
        /// Unpacked bytes that the header promises, those of the header among them.
        expected: u64,
    },
    /// The file holds no items, or items without elements.
    #[error("empty: its header says {dims:?}")]
    Empty {
        /// The sizes in the header.
        dims: Vec<u32>,
    },
}
