//! Figures computed from runs: who owns the peak, how the bytes came and went, what grows, and how runs differ. Pure: no
//! files, no text.
// Each group uses only the groups above it.
mod splits;

mod advice;
mod coarse;
mod comparison;
mod curve;
mod device_snapshot;
mod devices;
mod fates;
mod growing_phases;
mod lifetimes;
mod near_limit;
mod owners;
mod piecewise;
mod unread;
mod usage;
mod use_lanes;

mod chosen_book;
mod rss_over_live;
mod rss_stack;
mod self_time;
mod trend;

mod costs;
mod growth;
mod stacks;
mod step_parts;
mod summary;
mod time_and_energy;
mod time_comparison;

mod leaks;
mod objects;
mod threads;

pub use advice::Advice;
pub use chosen_book::{Asked, ChosenBook, NoBook, PEAK, book_at};
pub use coarse::CoarseBooks;
pub use comparison::{Absent, Comparison, ComparisonRow, compare};
pub use costs::{Cost, Costs, costs};
pub use curve::{Band, Curve, REST, curve};
pub use device_snapshot::{Compared, DeviceComparison, FirstDifference, SegmentSizes, compare_snapshot};
pub use devices::{DeviceFigures, DevicePeak, devices, no_device};
pub use fates::{FigureOwners, FiguresWithTransient, PlaceFates, fates_by_place, figures_of, figures_with_transient};
pub use growing_phases::{GrowingPhase, growing_phases};
pub use growth::{OwnerTrend, StepGrowth, step_growth};
pub use leaks::{Leak, leaks};
pub use lifetimes::{Lifetimes, lifetimes, median_ns};
pub use near_limit::{GrewAfter, grew_after_near_limit};
pub use objects::{OTHER_SITES, ObjectSums, UNKNOWN_OBJECT, objects};
pub use owners::{OwnerBytes, owners};
pub use rss_over_live::{Cause, RssOverLive, rss_over_live};
pub use rss_stack::{RssStack, rss_stack};
pub use self_time::{NameTime, NoTimes, SelfTimeFigures, SelfTimes, TimeBasis, self_time_figures, self_times};
pub use splits::Splits;
pub use stacks::{Measure, StackSite, growing_sites, measured_bytes, sites};
pub use step_parts::{PartFigures, StepPart, StepParts, step_parts};
pub use summary::{AliveAtExit, Peak, ReconcileLine, Rss, Summary, TotalCounts, TrackerFigures, summarise};
pub use threads::{ThreadSums, threads};
pub use time_and_energy::{LayerCosts, ScopeCosts, TimeAndEnergy, is_recorded_as, layer_costs};
pub use time_comparison::{TimeComparison, compare_times};
pub use trend::{FEWEST_STEPS, Trend, trend};
pub use unread::{Release, UnreadFigures, UnreadStorages, releases, unread, unread_figures};
pub use usage::{Power, SamplingError, Usage, interval_ns, no_power, power, sampling_error, usage_by, whole_meters};
pub use use_lanes::{LaneLine, LaneUnit, UseLane, UseLanes, use_lanes};
