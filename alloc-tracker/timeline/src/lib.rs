//! The timeline file: what a run of the memory profiler leaves on disk, and nothing else.
//!
//! Data flows through the modules in this order:
//!
//! ```text
//! recorder --Record--> Assembler --Timeline--> store --timeline.json--> load --Timeline--> viewer
//!     \---Record---> log (JSON lines, survives SIGKILL) --recover--> Assembler
//! ```
//!
//! A running program emits [`Record`]s. The [`Assembler`] folds them into a [`Timeline`], in the process that
//! records as well as in `viewer recover`, so that a recovered file and a finished one cannot differ in meaning.
//! The fields are described one by one in `docs/FORMAT.md`; `docs/timeline.schema.json` is the JSON Schema.
//!
//! All sizes are bytes, all times are nanoseconds since the session began, both as integers.
#![forbid(unsafe_code)]

mod analysis;
mod assemble;
mod file;
mod load;
mod record;
mod samples;
mod scope;
mod stacks;
mod store;

pub use analysis::{
    Analysis, Bucket, Coverage, Fate, Figures, Flow, Growth, GrowthOwner, Histogram, Over, Place, Sums,
};
pub use assemble::{Assembler, MAX_MARK_TABLES, MAX_STEPS};
pub use file::{
    Allocator, AtExit, Book, BookLine, Door, Ending, FORMAT_NAME, FORMAT_VERSION, HighWater, Lane, Machine, Mark,
    PeakRequested, Resolution, ScopeTotals, Series, Snapshot, Step, Timeline, Totals, TrackerCost,
};
pub use load::{LoadError, load, parse};
pub use record::{Record, Sample};
pub use samples::MAX_SAMPLES;
pub use scope::{Category, Dimension, NONE, Row, Scope, split_by};
pub use stacks::{Call, SampleCounts, Site, SiteColumn, SiteGrowth, SiteSums, Stacks};
pub use store::{encode, store};
