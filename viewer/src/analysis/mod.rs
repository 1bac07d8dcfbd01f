//! Figures computed from runs: who owns the peak, how the bytes came and went, what grows, and how runs differ. Pure: no
//! files, no text.
// Each group uses only the groups above it.
mod comparison;
mod curve;
mod fates;
mod growing_phases;
mod lifetimes;
mod owners;
mod piecewise;

mod summary;
mod trend;

mod growth;
mod stacks;

mod leaks;

pub use comparison::{Comparison, ComparisonRow, compare};
pub use curve::{Band, Curve, REST, curve};
pub use fates::{FigureOwners, FiguresWithTransient, PlaceFates, fates_by_place, figures_of, figures_with_transient};
pub use growing_phases::{GrowingPhase, growing_phases};
pub use growth::{OwnerTrend, StepGrowth, step_growth};
pub use leaks::{Leak, leaks};
pub use lifetimes::{Lifetimes, lifetimes, median_ns};
pub use owners::{OwnerBytes, owners};
pub use stacks::{Measure, StackSite, growing_sites, measured_bytes, sites};
pub use summary::{AliveAtExit, Peak, ReconcileLine, Rss, Summary, TotalCounts, TrackerFigures, summarise};
pub use trend::{FEWEST_STEPS, Trend, trend};
