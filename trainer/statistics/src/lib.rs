//! Statistics of repeated measurements: the values in order, their mean and deviation, and how far their median may be
//! trusted.
//!
//! ```
//! use trainer_statistics::{Summary, median_interval};
//!
//! // Two runs of three steps each, in milliseconds.
//! let runs = [vec![10.0, 11.0, 12.0], vec![11.0, 12.0, 13.0]];
//! let summary = Summary::of(&runs.concat()).expect("there are values");
//! assert_eq!((summary.min, summary.median, summary.max), (10.0, 11.5, 13.0));
//! let interval = median_interval(&runs, 1).expect("there are values");
//! assert!(interval.low <= summary.median && summary.median <= interval.high);
//! ```
#![forbid(unsafe_code)]

mod summary;

mod interval;

pub use interval::{Interval, median_interval};
pub use summary::{Summary, median, quantile, range};
