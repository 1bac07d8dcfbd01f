//! How a session begins.
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use alloc_timeline::{Door, FORMAT_VERSION, Record};
use serde_json::Value;

use super::{Session, SessionError, end};
use crate::probe;
use crate::recorder::output::Output;
use crate::recorder::thread::Recorder;
use crate::scope::as_tracker;
use crate::sys;
use crate::{interposition, ledger::pool};

/// How to record; see [`Session::builder`].
#[derive(Clone, Debug)]
#[must_use = "nothing is recorded before `start`"]
pub struct SessionBuilder {
    output: PathBuf,
    interval: Duration,
    facts: BTreeMap<String, Value>,
}

impl Default for SessionBuilder {
    fn default() -> Self {
        SessionBuilder {
            output: PathBuf::from("run.timeline.json"),
            interval: Duration::from_millis(10),
            facts: BTreeMap::new(),
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

    /// Begins recording.
    ///
    /// # Errors
    /// When a session is open already, when the output cannot be written, or when there is no thread to be had.
    pub fn start(self) -> Result<Session, SessionError> {
        let start = || self.begin();
        match pool::acquire() {
            Some(slot) => as_tracker(slot, start),
            None => start(),
        }
    }

    fn begin(&self) -> Result<Session, SessionError> {
        end::install(|| {
            let path = PathBuf::from(self.output.to_string_lossy().replace("%p", &std::process::id().to_string()));
            // The folder of now, whatever the working directory is in the end.
            let path = std::path::absolute(&path).unwrap_or(path);
            let output = Output::open(path.clone()).map_err(|source| SessionError::Output { path, source })?;
            Recorder::start(output, self.first_records(), self.interval).map_err(SessionError::Thread)
        })?;
        Ok(Session { open: true })
    }

    fn first_records(&self) -> Vec<Record> {
        let mut run = self.facts.clone();
        let command: Vec<Value> = std::env::args_os().map(|word| word.to_string_lossy().into()).collect();
        run.insert("command".to_owned(), command.into());
        run.insert("pid".to_owned(), std::process::id().into());
        run.insert("started_unix_ns".to_owned(), sys::unix_ns().into());
        let resolutions = interposition();
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
