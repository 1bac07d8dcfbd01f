//! Helpers of the end-to-end tests: they find the programs, run them (each configuration of the trainer once), and read
//! the timelines.
//!
//! The programs are those of the release profile, wherever the target folder is. A test does not build them, because it
//! would wait for the lock of the `cargo test` that runs it.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use alloc_timeline::{Category, Row, Scope, Snapshot, Timeline};
use serde_json::Value;
use tempfile::TempDir;

/// The repository's slice of Fashion-MNIST.
pub const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/fashion-mnist");
/// Texts that the repository has: its documentation.
pub const TEXTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");
/// The networks that read texts.
pub const TEXT_MODELS: [&str; 5] = ["bert_base", "bert_tiny", "char_cnn", "lstm", "seq2seq"];

/// The path of `name` (`viewer`, `examples/mlp`) in the release folder.
///
/// # Panics
/// When it is not there; the message is the command that builds it.
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this test's own path");
    let profile = test.ancestors().find(|folder| folder.ends_with("release") || folder.ends_with("debug"));
    let path = profile.expect("the tests run in a profile's folder").with_file_name("release").join(name);
    let build = match name.split_once('/') {
        Some((_, example)) => format!("cargo build --release -p trainer --example {example}"),
        None if name == "alloc-tracker" => "cargo build --release -p alloc-tracker-cli".to_owned(),
        None => format!("cargo build --release -p {name}"),
    };
    assert!(path.exists(), "{} is not there; build it with: {build}", path.display());
    path
}

/// The command that runs the program `name`, with the tracker on and one thread for libtorch.
pub fn command(name: &str) -> Command {
    let mut command = Command::new(binary(name));
    command.env("OMP_NUM_THREADS", "1").env_remove("ALLOC_TRACKER");
    command
}

/// The exit code and the output of a process that has ended.
#[derive(Debug)]
pub struct Ran {
    /// Exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// All of stdout.
    pub stdout: String,
    /// All of stderr.
    pub stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// Runs `command` to its end.
///
/// # Panics
/// When it cannot be started.
pub fn run(command: &mut Command) -> Ran {
    command.output().unwrap_or_else(|error| panic!("{command:?}: {error}")).into()
}

/// Runs `viewer` with these arguments.
pub fn viewer(args: &[&str]) -> Ran {
    run(command("viewer").args(args))
}

/// Runs a victim, whose path is `env!("CARGO_BIN_EXE_victim-...")`, with the timeline's path as first argument and
/// `more` behind it.
///
/// # Panics
/// When it cannot be started, or leaves no timeline.
pub fn victim(path: &str, more: &[&str]) -> (Ran, Timeline) {
    let folder = folder();
    let out = folder.path().join("victim.timeline.json");
    let ran =
        run(Command::new(path).arg(&out).args(more).env_remove("ALLOC_TRACKER").env_remove("ALLOC_TRACKER_STACKS"));
    let timeline = alloc_timeline::load(&out).unwrap_or_else(|error| panic!("{error}\n{}", ran.stderr));
    (ran, timeline)
}

/// A temporary folder, which is removed when the value is dropped.
///
/// # Panics
/// When it cannot be made.
pub fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder for what the run leaves")
}

/// A path as text.
///
/// # Panics
/// When it is not UTF-8.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// A configuration of the trainer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Config {
    /// `train` or `infer`.
    pub mode: &'static str,
    /// A name of `trainer models`.
    pub model: &'static str,
    /// Images or texts in a step.
    pub batch: u64,
    /// Width and height of the images, in pixels; of texts their length in tokens.
    pub side: u64,
    /// How many steps the run has.
    pub steps: u64,
    /// Threads that libtorch computes with.
    pub threads: u64,
    /// A number that tells runs apart whose other fields are the same.
    pub repetition: u64,
}

impl Config {
    /// Training on one thread, with repetition 0.
    pub fn train(model: &'static str, batch: u64, side: u64, steps: u64) -> Config {
        Config { mode: "train", model, batch, side, steps, threads: 1, repetition: 0 }
    }

    /// The command that runs the trainer in this configuration and writes the timeline to `out`.
    pub fn command(&self, out: &Path) -> Command {
        let mut command = command("trainer");
        let (data, size) = if TEXT_MODELS.contains(&self.model) { (TEXTS, "--length") } else { (DATA, "--image-size") };
        command.args([self.mode, "--model", self.model, "--data", data, "--seed", "1", "--out"]).arg(out);
        for (flag, value) in
            [("--batch", self.batch), (size, self.side), ("--steps", self.steps), ("--threads", self.threads)]
        {
            command.args([flag, &value.to_string()]);
        }
        command.env("OMP_NUM_THREADS", self.threads.to_string());
        command
    }

    /// The timeline of a run in this configuration. A test process runs each configuration once, however many tests
    /// ask.
    ///
    /// # Panics
    /// When the run fails or leaves no timeline.
    pub fn run(self) -> &'static Timeline {
        static RUNS: Mutex<BTreeMap<Config, Arc<OnceLock<&'static Timeline>>>> = Mutex::new(BTreeMap::new());
        let cell = RUNS.lock().unwrap_or_else(PoisonError::into_inner).entry(self).or_default().clone();
        cell.get_or_init(|| {
            let folder = folder();
            let out = folder.path().join("run.timeline.json");
            let ran = run(&mut self.command(&out));
            assert_eq!(ran.code, Some(0), "{self:?}: {}", ran.stderr);
            let timeline = alloc_timeline::load(&out).unwrap_or_else(|error| panic!("{self:?}: {error}"));
            Box::leak(Box::new(timeline))
        })
    }
}

/// What `viewer summary --json` prints for `timeline`.
///
/// # Panics
/// When it fails or prints no JSON.
pub fn summary(timeline: &Timeline) -> Value {
    let folder = folder();
    let path = stored(timeline, &folder, "run.timeline.json");
    let ran = viewer(&["summary", "--json", text(&path)]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    serde_json::from_str(&ran.stdout).expect("one JSON object and nothing else")
}

/// Writes `timeline` into `folder`.
///
/// # Panics
/// When it cannot be written.
pub fn stored(timeline: &Timeline, folder: &TempDir, name: &str) -> PathBuf {
    let path = folder.path().join(name);
    alloc_timeline::store(timeline, &path).expect("the timeline is written");
    path
}

/// The snapshots of all marks called `mark`, in order.
pub fn tables<'a>(timeline: &'a Timeline, mark: &str) -> Vec<&'a Snapshot> {
    timeline.marks.iter().filter(|found| found.name == mark).filter_map(|found| found.snapshot.as_ref()).collect()
}

/// The rows of a snapshot with their scopes.
pub fn rows<'a>(timeline: &'a Timeline, table: &'a Snapshot) -> impl Iterator<Item = (&'a Scope, &'a Row)> {
    table.rows.iter().map(|row| (&timeline.scopes[row.scope as usize], row))
}

/// The requested bytes of one category.
pub fn requested(table: &Snapshot, category: Category) -> u64 {
    table.rows.iter().filter(|row| row.category == category).map(|row| row.requested_bytes).sum()
}

/// The requested bytes of one category, by layer.
pub fn requested_by_layer(timeline: &Timeline, table: &Snapshot, category: Category) -> BTreeMap<String, u64> {
    let mut by_layer = BTreeMap::new();
    for (scope, row) in rows(timeline, table).filter(|(_, row)| row.category == category) {
        *by_layer.entry(scope.layer.clone()).or_default() += row.requested_bytes;
    }
    by_layer
}
