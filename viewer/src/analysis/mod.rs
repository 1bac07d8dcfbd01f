//! Numbers out of a run: who owns the peak, how the bytes came and went, and how two runs differ. Pure: no files,
//! no text.
mod comparison;
mod curve;
mod growth;
mod owners;
mod summary;

pub use comparison::{Comparison, Line, compare};
pub use curve::{Band, Curve, REST, curve};
pub use growth::{Growth, growth};
pub use owners::{Owner, owners};
pub use summary::{AliveAtExit, Peak, ReconcileLine, Rss, Summary, TotalCounts, TrackerFigures, summarise};
