//! What stands in `timeline.json`, field by field: one file for each part of the document.
//!
//! `docs/FORMAT.md` says what each field means, and what is missing in older files.

// Parts that need no other part.
mod book;
mod child_processes;
mod cost;
mod energy;
mod near_limit;
mod peak;
mod run;
mod series;
mod snapshot;
mod step_times;
mod totals;
mod utilisation;

// Parts that have others in them.
mod device;
mod shared_memory;

// The whole.
mod timeline;

pub use book::{BeyondLine, Book, BookLine, BookPart, MarkBook, OutsideFigure};
pub use child_processes::ChildProcesses;
pub use cost::TrackerCost;
pub use device::{DeviceMemory, DevicePrediction};
pub use energy::{Energy, EnergyMeter, ScopeEnergy};
pub use near_limit::{Growing, Holder, NearLimit};
pub use peak::{HighWater, PeakRequested, Step};
pub use run::{Allocator, Door, Ending, Machine, Resolution};
pub use series::Series;
pub use shared_memory::{SHARED_MEMORY, SharedMemory};
pub use snapshot::{AtExit, Mark, Snapshot};
pub use step_times::{ScopeTimes, StepTimes};
pub use timeline::{FORMAT_NAME, FORMAT_VERSION, Timeline};
pub use totals::{ScopeTotals, Totals};
pub use utilisation::{CoreUsage, ProcessUsage, ScopeTime, ThreadUsage, Utilisation};
