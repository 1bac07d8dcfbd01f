//! How a session begins.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use alloc_timeline::{Door, FORMAT_VERSION, Record, Resolution};
use serde_json::Value;

use super::{Session, SessionError, end, size};
use crate::door::backend;
use crate::mode::mode;
use crate::probe;
use crate::recorder::output::Output;
use crate::recorder::thread::Recorder;
use crate::recorder::watch::{Approach, Callback, Expected, Then, Watch};
use crate::scope::as_tracker;
use crate::stacks;
use crate::sys;
use crate::{interposition, ledger::pool};

/// The environment variable that sets thresholds.
const DUMP_AT: &str = "ALLOC_TRACKER_DUMP_AT";

/// How to record; see [`Session::builder`].
#[derive(Clone, Debug)]
#[must_use = "nothing is recorded before `start`"]
pub struct SessionBuilder {
    output: PathBuf,
    interval: Duration,
    facts: BTreeMap<String, Value>,
    watch: Watch,
}

impl Default for SessionBuilder {
    fn default() -> Self {
        SessionBuilder {
            output: PathBuf::from("run.timeline.json"),
            interval: Duration::from_millis(10),
            facts: BTreeMap::new(),
            watch: Watch::default(),
        }
    }
}

impl SessionBuilder {
    /// The timeline to write; `run.timeline.json` unless said otherwise. `%p` in it becomes the process's number.
    pub fn output(mut self, path: impl Into<PathBuf>) -> Self {
        self.output = path.into();
        self
    }

    /// Distance of two samples; 10 ms unless said otherwise. Peaks do not depend on it.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval.max(Duration::from_millis(1));
        self
    }

    /// A fact about the run: `model`, `mode`, `batch`.
    pub fn fact(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.facts.insert(key.to_owned(), value.into());
        self
    }

    /// Writes a copy of the timeline so far when the live bytes reach `bytes` (usable bytes): beside the timeline, as
    /// `NAME.threshold-1.timeline.json`, `-2` and so on up to 16. The timeline itself gets a mark with the table of
    /// owners. It is written again only after the live bytes have fallen by an eighth below `bytes` in between. It can be
    /// given several times; the environment variable `ALLOC_TRACKER_DUMP_AT` (`1GiB`, or several with commas) adds to it.
    ///
    /// The recorder looks every 2 ms, and the copy shows that moment: at most one tick (see
    /// [`interval`](Self::interval)) after the crossing, as long as the machine has a core for it.
    pub fn dump_at(mut self, bytes: u64) -> Self {
        self.watch.threshold(bytes);
        self
    }

    /// Calls `function` when the live bytes come near a peak that is expected: so many bytes (again only after they have
    /// fallen by an eighth below), or a share of the last step's peak (once a step). What it gives back says whether the
    /// timeline so far is written, as `NAME.before-peak-1.timeline.json`.
    ///
    /// It runs on the recorder's thread, up to one tick after the bytes were reached, which a short peak may not wait
    /// for. It must not block: while it runs, nothing is recorded, and a program that allocates much has to wait. What it
    /// allocates is counted as the tracker's own. It may mark an instant or state a fact, but not finish the session.
    /// When it panics it is not called again, and the timeline's losses say so.
    pub fn before_peak(mut self, expected: Expected, function: impl FnMut(&Approach) -> Then + Send + 'static) -> Self {
        self.watch.before(expected, Callback::new(function));
        self
    }

    /// Begins recording.
    ///
    /// # Errors
    /// When a session is open already, when the output cannot be written, when there is no thread to be had, or when the two
    /// doors lead to two allocators.
    pub fn start(self) -> Result<Session, SessionError> {
        let start = || self.begin();
        match pool::acquire() {
            Some(slot) => as_tracker(slot, start),
            None => start(),
        }
    }

    fn begin(&self) -> Result<Session, SessionError> {
        let resolutions = interposition();
        if let Some(allocator) = backend::over()
            && resolutions.iter().any(|resolution| resolution.tracked)
        {
            return Err(SessionError::TwoBackends { allocator });
        }
        end::install(|| {
            let path = PathBuf::from(self.output.to_string_lossy().replace("%p", &std::process::id().to_string()));
            // The folder of now, whatever the working directory is in the end.
            let path = std::path::absolute(&path).unwrap_or(path);
            let mut output = Output::open(path.clone()).map_err(|source| SessionError::Output { path, source })?;
            output.losses.extend(stacks::complaint());
            let watch = self.watch_with_environment(&mut output.losses);
            Recorder::start(output, self.first_records(resolutions), self.interval, watch).map_err(SessionError::Thread)
        })?;
        Ok(Session { open: true })
    }

    /// What to watch for, with what the environment adds.
    fn watch_with_environment(&self, losses: &mut Vec<String>) -> Watch {
        let mut watch = self.watch.clone();
        let Ok(asked) = std::env::var(DUMP_AT) else { return watch };
        for text in asked.split(',').map(str::trim).filter(|text| !text.is_empty()) {
            match size::parse(text) {
                Some(bytes) => watch.threshold(bytes),
                None => losses.push(format!("{DUMP_AT}: '{text}' is no size: write 1GiB, 512MiB or a number of bytes")),
            }
        }
        watch
    }

    fn first_records(&self, resolutions: Vec<Resolution>) -> Vec<Record> {
        let mut run = self.facts.clone();
        let command: Vec<Value> = std::env::args_os().map(|word| word.to_string_lossy().into()).collect();
        run.insert("command".to_owned(), command.into());
        run.insert("tracker_mode".to_owned(), mode().name().into());
        run.insert("pid".to_owned(), std::process::id().into());
        run.insert("started_unix_ns".to_owned(), sys::unix_ns().into());
        let mut allocator = probe::allocator();
        allocator.doors = vec![Door::Rust];
        if resolutions.iter().any(|resolution| resolution.tracked) {
            allocator.doors.push(Door::C);
        }
        let start = Record::Start {
            format_version: FORMAT_VERSION,
            run,
            machine: probe::machine::machine(),
            allocator,
            interval_ns: self.interval.as_nanos() as u64,
        };
        std::iter::once(start).chain(resolutions.into_iter().map(Record::Resolution)).collect()
    }
}
