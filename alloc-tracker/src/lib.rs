//! A memory profiler in the form of an allocator. Every allocation of the process is attributed to the phase, the layer
//! and the operator that made it, and a recording says to the byte who owned the memory at the peak.
//!
//! # Use in a program
//!
//! ```no_run
//! use alloc_interpose as _; // track C and C++ as well; without this line, only Rust's allocations are tracked
//! # mod alloc_interpose {}
//! use alloc_tracker::{Session, layer, phase};
//!
//! #[global_allocator]
//! static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();
//!
//! fn main() -> Result<(), alloc_tracker::SessionError> {
//!     let session = Session::builder().output("run.timeline.json").start()?;
//!     for _ in 0..10 {
//!         let _step = session.step();
//!         let _phase = phase!("forward");
//!         let _layer = layer!("conv1");
//!         // what this thread allocates here belongs to the layer "conv1" in the phase "forward"
//!     }
//!     session.finish()?;
//!     Ok(())
//! }
//! ```
//!
//! `viewer run.timeline.json` then draws the timeline and says who owned the memory at the peak.
//!
//! Crates that instrument a framework use [`hooks`]. Work that moves to other threads or into futures takes its scope
//! along with [`capture`].
//!
//! # What is counted
//!
//! Every block of Rust's allocator is counted, and with `alloc-interpose` every block of C's malloc family: in usable
//! bytes (what the allocator set aside) and in requested bytes. Memory that comes from elsewhere (`mmap`, thread
//! stacks, the GPU) is not counted; the timeline's account of the resident set has lines for it. `docs/ACCURACY.md`
//! says what each number means.
//!
//! # Settings from the environment
//!
//! | variable | meaning |
//! |---|---|
//! | `ALLOC_TRACKER=off` | nothing is tracked |
//! | `ALLOC_TRACKER=exact` | every block is an event of its own, so that peaks have no uncertainty |
//! | `ALLOC_TRACKER_BACKEND=system` | the C library's allocator under the tracker instead of jemalloc |
//! | `ALLOC_TRACKER_CACHE=off` | jemalloc is called for every block, also where its cache of the thread has one at hand |
//! | `ALLOC_TRACKER_STACKS=512KiB` | call stacks, on average one for so many allocated bytes (`512KiB,7`: and a seed) |
//! | `ALLOC_TRACKER_NEAR_LIMIT=256MiB` | a line on stderr and a copy of the timeline when less is left until a limit (`10%`, `off`) |
//! | `ALLOC_TRACKER_DUMP_AT=8GiB` | a copy of the timeline when the live bytes cross that (`8GiB,12GiB`: two) |
//! | `ALLOC_TRACKER_TIMES=on` | time, processor time and energy by scope (`cpu`: and each thread's own processor time) |
//! | `ALLOC_TRACKER_CONTROL=FOLDER` | a folder through which `alloc-tracker dump`, `mark` and `stop` ask |
//! | `ALLOC_TRACKER_POWER_FILE=tegra.log` | a file to which the text of tegrastats or `vcgencmd pmic_read_adc` is written |
//!
//! # Features
//!
//! Two features are on by default, and a small program can leave them out: `stacks` samples call stacks and names their
//! functions; `gpu` reads the process's share of the GPU's memory through NVML.
//!
//! # Structure
//!
//! Data flows one way through the crate's modules: a module uses only those that `lib.rs` declares before it.
//! `docs/ARCHITECTURE.md` describes them.

mod places;
mod sys;

mod settings;

mod sensors;

mod backend;

mod scope;

mod tag;

mod event;

#[cfg(feature = "stacks")]
mod sampler;

mod ledger;

mod errands;

pub mod devices;

mod named_memory;
mod shared_memory;

mod stacks;

mod door;

mod scopes;

mod probe;

mod recorder;

mod session;

mod startup;

pub use alloc_replay::BlockSize;
pub use alloc_timeline::{Category, DerivedPhase, Resolution, work_of};
#[doc(hidden)]
/// Where this process's control groups are: for programs that make groups of their own.
pub mod control_group {
    pub use crate::probe::cgroup::{Place, Version, find_version};
}

#[doc(hidden)]
/// For the library that is preloaded into programs which know nothing of the tracker: it starts and ends sessions in their
/// place.
pub mod unaided {
    pub use alloc_timeline::with_process_id;

    pub use crate::ledger::as_tracker;
    pub use crate::named_memory::{mapped, unmapped};
    pub use crate::probe::interposition::own_library;
    pub use crate::recorder::{Request, ask, is_recorded, say_refused};
    #[cfg(feature = "stacks")]
    pub use crate::settings::sampling::is_on as samples_stacks;
    pub use crate::shared_memory::{about_to_unmap, tensor_handed_over, tensor_mapped};
    pub use crate::stacks::code_was_unloaded;
    #[cfg(feature = "stacks")]
    pub use crate::stacks::{functions, interpreter};
    pub use crate::startup::start_up;
    pub use crate::sys::last_thread::own_threads;
}

pub use door::c as malloc_family;
pub use door::{Over, Tracker};
pub use probe::interposition::{interposition, untracked_objects};
pub use recorder::{Approach, Expected, PeakAction};
#[doc(hidden)]
pub use scopes::Site;
pub use scopes::{Captured, Instrumented, ScopeGuard, capture, hooks, layer, phase};
pub use session::{Fact, Report, Session, SessionBuilder, SessionError, StepGuard, derived_steps};
pub use settings::LeastRoom;
pub use settings::times::Times;
