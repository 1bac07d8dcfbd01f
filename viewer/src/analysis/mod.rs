//! Numbers out of a run: who owns the peak, how the bytes came and went, and how two runs differ. Pure: no files,
//! no text.
mod comparison;
mod curve;
mod growing;
mod growth;
mod leaks;
mod lifetimes;
mod owners;
mod places;
mod stacks;
mod summary;
mod trend;

pub use comparison::{Comparison, Line, compare};
pub use curve::{Band, Curve, REST, curve};
pub use growing::{Growing, growing};
pub use growth::{OwnerGrowth, StepGrowth, step_growth};
pub use leaks::{Leak, leaks};
pub use lifetimes::{Lifetimes, lifetimes, median_ns};
pub use owners::{Owner, owners};
pub use places::{Kind, Made, OwnFigures, figures, made, over, own_figures, place_name};
pub use stacks::{Measure, StackSite, bytes as site_bytes, growing_sites, sites};
pub use summary::{AliveAtExit, Peak, ReconcileLine, Rss, Summary, TotalCounts, TrackerFigures, summarise};
pub use trend::{FEWEST_STEPS, Trend, trend};
