//! The builder of a session: its options, its checks at the start, and the first records of its timeline.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use alloc_timeline::{Allocator, Door, FORMAT_VERSION, Record, Resolution, with_process_id};
use serde_json::Value;

use super::active;
use super::error::SessionError;
use super::fact::Fact;
use super::handle::Session;
use super::step_state;
use crate::ledger::{as_tracker, publish_own};
use crate::probe::interposition::interposition_once;
use crate::probe::limits::refuses_soon;
use crate::recorder::{
    Approach, Callback, Control, Expected, Interval, Output, PeakAction, Plan, Recorder, Thresholds,
};
use crate::settings::times::{self, Times};
use crate::settings::{self, LeastRoom, sampling};
use crate::{backend, probe, sys};

impl Session {
    /// A builder for a session, with the default options.
    ///
    /// ```no_run
    /// let session = alloc_tracker::Session::builder().output("run.timeline.json").fact("batch", 32).start()?;
    /// # Ok::<(), alloc_tracker::SessionError>(())
    /// ```
    pub fn builder() -> SessionBuilder {
        SessionBuilder::default()
    }
}

/// The options of a session; made by [`Session::builder`].
///
/// ```no_run
/// use std::time::Duration;
///
/// use alloc_tracker::{Expected, PeakAction, Session};
///
/// let session = Session::builder()
///     .output("run-%p.timeline.json")
///     .interval(Duration::from_millis(5))
///     .fact("batch", 32)
///     .dump_at(8 << 30)
///     .before_peak(Expected::ShareOfLastStep(0.9), |approach| {
///         eprintln!("{} live bytes", approach.live_bytes);
///         PeakAction::Dump
///     })
///     .start()?;
/// # Ok::<(), alloc_tracker::SessionError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is recorded before `start`"]
pub struct SessionBuilder {
    output: PathBuf,
    interval: Interval,
    facts: BTreeMap<String, Fact>,
    thresholds: Thresholds,
    times: Times,
}

impl Default for SessionBuilder {
    fn default() -> Self {
        SessionBuilder {
            output: PathBuf::from("run.timeline.json"),
            interval: Interval::Affordable,
            facts: BTreeMap::new(),
            thresholds: Thresholds::default(),
            times: Times::Off,
        }
    }
}

/// The longest time between two samples: a year.
const LONGEST_INTERVAL: Duration = Duration::from_secs(365 * 24 * 3600);

impl SessionBuilder {
    /// Sets the path of the timeline; the default is `run.timeline.json`. The process id replaces `%p` in the file's name.
    pub fn output(mut self, path: impl AsRef<Path>) -> Self {
        self.output = path.as_ref().to_owned();
        self
    }

    /// Sets the time between two samples, which is at least 1 ms and at most a year. The default is 10 ms, and more, up to 40 ms, where samples would otherwise take
    /// more than half a percent of a processor. Peaks do not depend on it, because the recorder also replays what happened
    /// between two samples.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = Interval::Given(interval.clamp(Duration::from_millis(1), LONGEST_INTERVAL));
        self
    }

    /// Adds a fact about the run, such as `model`, `mode` or `batch`. The timeline has it in `run`; a later fact with
    /// the same key replaces it.
    pub fn fact(mut self, key: &str, value: impl Into<Fact>) -> Self {
        self.facts.insert(key.to_owned(), value.into());
        self
    }

    /// Adds a threshold: when the live bytes reach `bytes` (usable bytes), the recorder writes a dump, which is a copy
    /// of the timeline so far. Dumps lie beside the timeline and are called `NAME.threshold-1.timeline.json`, `-2` and
    /// so on up to 16. The timeline itself gets a mark with the table of owners. A threshold counts as reached again
    /// only after the live bytes have been more than an eighth below `bytes` in between. This method can be called
    /// several times; the environment variable `ALLOC_TRACKER_DUMP_AT` (`1GiB`, or several sizes with commas) adds
    /// thresholds as well.
    ///
    /// The recorder compares the live bytes with the thresholds every 2 ms, and a dump shows the moment of that
    /// comparison: at most one tick (see [`interval`](Self::interval)) after the crossing, as long as the recorder's
    /// thread gets a core.
    pub fn dump_at(mut self, bytes: u64) -> Self {
        self.thresholds.dump_at(bytes);
        self
    }

    /// Sets how little must be left of what the process may have for the session to say so; the default is
    /// [`LeastRoom::Usual`]. What it may have is the least of: the limit of its control group (of the group's ancestors
    /// too), RLIMIT_AS, RLIMIT_DATA, and the machine's available memory and free swap. Then one line on stderr says what
    /// is left, which layer, phase and operator hold most, and what grew most; and a dump is written, called
    /// `NAME.near-limit-1.timeline.json`. The same is done again each time that half as much is left, at most five times
    /// for each limit. The line is left out when stderr is closed or writing to it would have to wait.
    ///
    /// The environment variable `ALLOC_TRACKER_NEAR_LIMIT` goes before this setting: a size (`256MiB`), a share of the
    /// limit (`10%`), or `off`. The limits are looked at on every tick while they are near, and at most once a second
    /// while they are far.
    pub fn near_limit(mut self, least: LeastRoom) -> Self {
        self.thresholds.least_room = least;
        self
    }

    /// Says nothing on stderr when a limit comes near; the timeline says it, and the dump is written all the same. For
    /// sessions of which the reader of the program's stderr knows nothing.
    pub fn quiet(mut self) -> Self {
        self.thresholds.is_quiet = true;
        self
    }

    /// Calls `function` when the live bytes come near an expected peak. [`Expected::Bytes`] expects a number of bytes;
    /// the function is called again only after the live bytes have been more than an eighth below it.
    /// [`Expected::ShareOfLastStep`] expects a share of the last step's peak; the function is called at most once in a
    /// step. The function's result says whether the recorder writes a dump, called `NAME.before-peak-1.timeline.json`.
    ///
    /// The function runs on a thread of the tracker's, up to one tick after the bytes were reached; a short peak may be
    /// over by then. The function must not block: while it runs, nothing is recorded, and a program that allocates much
    /// has to wait. What the function allocates is counted as the tracker's own. The function may add marks and facts, and
    /// may end the process by `exit`, but must not finish the session otherwise. When it panics, it is not called again, and the
    /// timeline's losses say so.
    pub fn before_peak(
        mut self,
        expected: Expected,
        function: impl FnMut(&Approach) -> PeakAction + Send + 'static,
    ) -> Self {
        self.thresholds.call_before(expected, Callback::new(function));
        self
    }

    /// Measures how long each scope is active, its part of the processor time, and its part of the energy where the
    /// machine has sensors for that. The environment variable `ALLOC_TRACKER_TIMES` (`on`, or `cpu` for
    /// [`Times::WithThreadCpu`]) does the same; whichever asks for more counts. It is off by default, because each entry
    /// into a scope then reads a clock, and so does its end: `docs/OVERHEAD.md` says what that costs.
    pub fn times(mut self, times: Times) -> Self {
        self.times = times;
        self
    }

    /// Begins recording.
    ///
    /// # Errors
    /// - [`SessionError::AlreadyRecording`] when this process has a session that is not finished;
    /// - [`SessionError::Output`] when the timeline's folder cannot be written to;
    /// - [`SessionError::Thread`] when the recorder's threads cannot be started;
    /// - [`SessionError::TwoBackends`] when Rust's allocations and C's go to two allocators;
    /// - [`SessionError::Room`] when the process may hardly map anything more.
    pub fn start(self) -> Result<Session, SessionError> {
        sys::without_cancellation(|| as_tracker(|| self.begin()))
    }

    fn begin(self) -> Result<Session, SessionError> {
        // These ask the loader, whose lock this thread may have: a session may start while a library is being loaded.
        let (resolutions, allocator) = (interposition_once(), probe::allocator());
        #[cfg(feature = "stacks")]
        let _ = probe::interposition::own_library();
        if let Some(allocator) = backend::inner::name()
            && resolutions.iter().any(|resolution| resolution.tracked)
        {
            return Err(SessionError::TwoBackends { allocator });
        }
        if let Some(room) = refuses_soon(SessionError::ROOM_BYTES) {
            let (limit_mib, left_mib) = (room.limit_bytes >> 20, room.left_bytes >> 20);
            return Err(SessionError::Room { limit: room.bound.resource().unwrap_or_default(), limit_mib, left_mib });
        }
        let session = active::install(|| {
            // Another thread frees what the options hold, and publishes that: what this one has counted must be published too.
            publish_own();
            Recorder::start(|| self.plan(resolutions, allocator), SessionError::Thread)
        })?;
        step_state::session_starts();
        Ok(Session::new(session))
    }

    fn plan(self, resolutions: Vec<Resolution>, allocator: Allocator) -> Result<Plan, SessionError> {
        let path = with_process_id(&self.output, std::process::id());
        // The path is made absolute now, because the program may change its working directory before the end.
        let path = std::path::absolute(&path).unwrap_or(path);
        let control = Control::open(&path);
        let mut output = Output::open(path.clone()).map_err(|reason| SessionError::Output { path, reason })?;
        let mut losses = Vec::from_iter(sampling::problem());
        let first = self.first_records(resolutions, allocator);
        let mut thresholds = self.thresholds;
        settings::dump_thresholds(&mut losses).into_iter().for_each(|bytes| thresholds.dump_at(bytes));
        thresholds.least_room = settings::least_room(&mut losses).unwrap_or(thresholds.least_room);
        let times = times::asked(&mut losses).max(self.times);
        losses.into_iter().for_each(|loss| output.lose(loss));
        Ok(Plan { output, control, first, interval: self.interval, thresholds, times })
    }

    fn first_records(&self, resolutions: Vec<Resolution>, mut allocator: Allocator) -> Vec<Record> {
        let facts = self.facts.iter();
        let mut run: BTreeMap<String, Value> =
            facts.map(|(key, fact)| (key.clone(), fact.clone().into_json())).collect();
        let command: Vec<Value> = std::env::args_os().map(|word| word.to_string_lossy().into()).collect();
        run.insert("command".to_owned(), command.into());
        run.insert("tracker_mode".to_owned(), settings::mode().name().into());
        run.insert("pid".to_owned(), std::process::id().into());
        run.insert("started_unix_ns".to_owned(), sys::unix_ns().into());
        allocator.doors = vec![Door::Rust];
        if resolutions.iter().any(|resolution| resolution.tracked) {
            allocator.doors.push(Door::C);
        }
        let start = Record::Start {
            format_version: FORMAT_VERSION,
            run,
            machine: probe::machine(),
            allocator,
            interval_ns: self.interval.least().as_nanos() as u64,
        };
        std::iter::once(start).chain(resolutions.into_iter().map(Record::Resolution)).collect()
    }
}
