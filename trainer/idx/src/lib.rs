//! Reads and writes IDX, the file format of MNIST and Fashion-MNIST, plain or gzipped.
//!
//! ```text
//! 00 00 08 DD   magic number: elements of one byte (08) in DD dimensions
//! NN NN NN NN   size of each dimension, big-endian, DD times; the first is the number of items
//! ..            one byte per element, row by row
//! ```
//!
//! Only element type 08 (unsigned byte) is supported. Images have three dimensions (count, height, width), labels one.
//!
//! ```
//! use trainer_idx::Idx;
//!
//! let labels = Idx { dims: vec![3], bytes: vec![7, 8, 9] };
//! let file = labels.encode();
//! assert_eq!(Idx::decode(&file[..], 1)?, labels);
//! # Ok::<(), trainer_idx::IdxError>(())
//! ```
#![forbid(unsafe_code)]

mod content;
mod error;
mod write;

mod read;

pub use content::Idx;
pub use error::IdxError;
pub use read::read;
pub use write::gzip;
