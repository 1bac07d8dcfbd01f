//! The timeline file: what a run of the memory profiler leaves on disk, and nothing else.
//!
//! A recorder emits [`Record`]s while the program runs. An [`Assembler`] folds them into a [`Timeline`], which is stored
//! when the run ends. The same records go to a [`log`], from which the timeline can be recovered if the process is killed.
//! Both ways use the same assembler, so that a recovered timeline cannot differ in meaning from a stored one.
//!
//! ```text
//! recorder --Record--> Assembler --Timeline--> store --timeline.json--> load --Timeline--> viewer
//!     \---Record---> log (JSON lines, survives SIGKILL) --recover--> Assembler
//! ```
//!
//! All sizes are bytes, and all times are nanoseconds since the session began; both are integers. `docs/FORMAT.md`
//! describes the fields one by one, and `docs/timeline.schema.json` is the JSON Schema.
//!
//! # Example
//!
//! A recorder notes one sample and a peak. A reader asks which phase owned the memory at the peak.
//!
//! ```
//! use alloc_timeline::{Assembler, Category, Dimension, Record, Row, Sample, Scope, Snapshot, load, store};
//!
//! let mut assembler = Assembler::new();
//! assembler.apply(Record::Scope(Scope { phase: "forward".into(), ..Scope::default() }));
//! let rows = vec![(0, Category::Activation, 4096)];
//! assembler.apply(Record::Sample(Sample { time_ns: 10, live_bytes: 4096, high_bytes: 4096, rows, ..Sample::default() }));
//! let row = Row { scope: 0, category: Category::Activation, usable_bytes: 4096, requested_bytes: 4000, blocks: 1 };
//! assembler.apply(Record::Peak(Snapshot { time_ns: 10, live_bytes: 4096, rows: vec![row], ..Snapshot::default() }));
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("run.timeline.json");
//! store(&assembler.timeline(), &path)?;
//! let timeline = load(&path)?;
//! let phases = timeline.peak.by(&timeline.scopes, Dimension::Phase);
//! assert_eq!(phases["forward"], 4096);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

// Each group uses only the groups above it.
mod derived_phase;
pub mod kept_file;
mod packed;
mod scope;
pub mod size;

pub mod sampling;

mod analysis;
mod inherited;
mod stacks;

mod unread;

mod file;

mod contradiction;
mod record;

mod analysis_text;
mod joined_steps;
mod load;
mod resident;
mod samples;
mod store;

mod assemble;
mod columns;

mod assembled;

pub mod log;

pub use analysis::{
    Analysis, Bucket, Coverage, Fate, Figures, Flow, Growth, GrowthOwner, Histogram, Place, RetainedAt, Sums,
};
pub use assemble::{Assembler, MAX_MARK_TABLES, MAX_STEPS};
pub use derived_phase::{DerivedPhase, work_of};
pub use file::{
    Allocator, AtExit, BeyondLine, Book, BookLine, BookPart, ChildProcesses, CoreUsage, DeviceMemory, DevicePrediction,
    Door, Ending, Energy, EnergyMeter, FORMAT_NAME, FORMAT_VERSION, Growing, HighWater, Holder, Machine, Mark,
    MarkBook, NearLimit, OutsideFigure, PeakRequested, ProcessUsage, Resolution, SHARED_MEMORY, ScopeEnergy, ScopeTime,
    ScopeTimes, ScopeTotals, Series, SharedMemory, Snapshot, Step, StepTimes, ThreadUsage, Timeline, Totals,
    TrackerCost, Utilisation,
};
pub use inherited::{inherited_name, is_inherited};
pub use load::{LoadError, load, parse};
pub use record::{Record, Sample};
pub use samples::MAX_SAMPLES;
pub use scope::{Category, Dimension, NONE, Row, Scope, split_by};
pub use stacks::{Call, SampleCounts, SampledThread, Site, SiteColumn, SiteGrowth, SiteSums, Stacks};
pub use store::{behind_links, dump_path, encode, leads_to_stream, store, store_by, with_process_id};
pub use unread::{Unread, UnreadRow};
