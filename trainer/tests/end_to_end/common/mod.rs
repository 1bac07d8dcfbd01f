//! Running the binary, and data small enough to be made for a test.
// Each test file uses its own part of this.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use alloc_timeline::{Category, Snapshot, Timeline};
use trainer_idx::Idx;

/// What a run of `trainer` left.
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
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// The binary, computing with one thread where the arguments do not say otherwise.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trainer"));
    command.args(args).env("OMP_NUM_THREADS", "1").env_remove("ALLOC_TRACKER");
    command
}

/// Runs it to its end.
pub fn trainer(args: &[&str]) -> Ran {
    command(args).output().expect("the binary starts").into()
}

/// Runs it to its end in a folder.
pub fn trainer_in(folder: &Path, args: &[&str]) -> Ran {
    command(args).current_dir(folder).output().expect("the binary starts").into()
}

/// Checks that a command was refused: exit code 2, nothing on stdout, and a message that says all of `says`.
#[track_caller]
pub fn refused(ran: &Ran, says: &[&str]) {
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("error: "), "{}", ran.stderr);
    for part in says {
        assert!(ran.stderr.contains(part), "{part:?} is missing in: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}

/// A data folder of `count` images of 28 x 28 with labels 0, 1, 2, 3, 0, ...: the label's quarter of the image is
/// bright, so that there is something to learn.
pub fn small_data(count: u8) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let mut pixels = Vec::new();
    let mut labels = Vec::new();
    for n in 0..count {
        let label = n % 4;
        labels.push(label);
        pixels.extend((0..28 * 28).map(|pixel| if pixel / (7 * 28) == usize::from(label) { 200 + n % 56 } else { n }));
    }
    let images = Idx { dims: vec![u32::from(count), 28, 28], bytes: pixels };
    let labels = Idx { dims: vec![u32::from(count)], bytes: labels };
    std::fs::write(folder.path().join("train-images-idx3-ubyte"), images.encode()).expect("written");
    std::fs::write(folder.path().join("train-labels-idx1-ubyte"), labels.encode()).expect("written");
    folder
}

/// The rows of a CSV file, by the names of their columns.
pub fn rows(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).expect("a table");
    let heads = reader.headers().expect("a head").clone();
    let of = |row: csv::StringRecord| heads.iter().zip(row.iter()).map(|(h, c)| (h.to_owned(), c.to_owned())).collect();
    reader.records().map(|row| of(row.expect("a row"))).collect()
}

/// The number in a cell.
#[track_caller]
pub fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} is no number: {row:?}"))
}

/// Bytes by layer.
pub type ByLayer = BTreeMap<String, u64>;

/// The tables at the marks of this name, one for each step.
pub fn tables<'a>(timeline: &'a Timeline, mark: &'a str) -> impl Iterator<Item = &'a Snapshot> {
    let marks = timeline.marks.iter().filter(move |found| found.name == mark);
    marks.map(|mark| mark.snapshot.as_ref().expect("a table"))
}

/// Requested bytes of one category by layer; of one operator, if one is named.
pub fn by_layer(timeline: &Timeline, table: &Snapshot, category: Category, op: Option<&str>) -> ByLayer {
    let mut by_layer = ByLayer::new();
    for row in table.rows.iter().filter(|row| row.category == category && row.requested_bytes > 0) {
        let scope = &timeline.scopes[row.scope as usize];
        if op.is_none_or(|op| scope.op == op) {
            *by_layer.entry(scope.layer.clone()).or_default() += row.requested_bytes;
        }
    }
    by_layer
}

/// A path as it is typed.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}
