//! Reads the binary files of CIFAR-10 and CIFAR-100 (Krizhevsky, 2009): small colour images with a label each.
//!
//! A file has no header. It is one record behind the other:
//!
//! ```text
//! CIFAR-10    LL           the class, 0 to 9
//! CIFAR-100   CC LL        the group of classes, 0 to 19; the class, 0 to 99
//! both        .. x 3072    32 x 32 pixels, one byte each, row by row: all of red, then green, then blue
//! ```
//!
//! So a file that was cut between two records looks whole. What can be told is that a record is not whole, that a label is
//! out of range, that one class of CIFAR-100 is in two groups, and that a file is longer than the longest of its set.
//!
//! ```
//! use trainer_cifar::{Images, Set};
//!
//! let mut file = vec![7];
//! file.extend([0; 3072]);
//! assert_eq!(Images::decode(&file[..], Set::Cifar10)?.labels, [7]);
//! # Ok::<(), trainer_cifar::CifarError>(())
//! ```
#![forbid(unsafe_code)]

mod error;
mod set;

mod read;

pub use error::CifarError;
pub use read::{Images, read};
pub use set::{CHANNELS, PIXELS, SIDE, Set};
