//! The folder of a sweep: what it was asked for, and a file for each run that ended. A run's file is whole or not there.
//!
//! ```text
//! OUT/sweep.json              what holds for all runs
//!     runs/POINT-r1.json      one for each run that ended
//!     running/                the timeline of the run in progress
//!     results.csv ...         made of the above at the end, again each time
//! ```
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::point::Point;
use super::record::Record;
use crate::written::write_whole;

/// What all runs of a folder have in common: without it their numbers could not stand side by side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Settings {
    pub(super) steps: u64,
    pub(super) seed: u64,
    /// `None`: each network's own.
    pub(super) classes: Option<u64>,
    pub(super) data: Option<String>,
}

/// A folder, held by this process alone.
pub(super) struct Folder {
    path: PathBuf,
    /// Locked until this ends, also by a kill.
    _lock: File,
}

impl Folder {
    /// Opens `path`, or makes it, for a sweep with `settings`.
    ///
    /// # Errors
    /// When it cannot be written, when another sweep works there now, or when it belongs to a sweep with other settings.
    pub(super) fn open(path: &Path, settings: &Settings) -> Result<Folder> {
        let cannot = || format!("{}: this output folder cannot be made; change --out", path.display());
        fs::create_dir_all(path.join("runs")).with_context(cannot)?;
        let lock = File::create(path.join("lock")).with_context(cannot)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("{}: another sweep works in this folder now; wait for its end, or change --out", path.display())
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(cannot),
        }
        let folder = Folder { path: path.to_owned(), _lock: lock };
        // What a killed sweep left half-done.
        let _ = fs::remove_dir_all(folder.running());
        let file = path.join("sweep.json");
        match fs::read_to_string(&file) {
            Ok(text) => {
                let stored: Settings = serde_json::from_str(&text).with_context(|| {
                    format!("{}: is no file of a sweep's; change --out, or remove it", file.display())
                })?;
                let changed = changes(&stored, settings);
                ensure!(
                    changed.is_empty(),
                    "{}: the sweep in this folder has {}; runs under both cannot stand side by side: type what it has, \
                     change --out, or remove the folder",
                    path.display(),
                    changed.join(", ")
                );
            }
            Err(_) => folder.write("sweep.json", serde_json::to_string_pretty(settings)?.as_bytes())?,
        }
        Ok(folder)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where the run in progress may leave files.
    pub(super) fn running(&self) -> PathBuf {
        self.path.join("running")
    }

    /// Reads the records of all runs that ended, in the order of their files' names.
    pub(super) fn records(&self) -> Result<Vec<Record>> {
        let runs = self.path.join("runs");
        let entries = fs::read_dir(&runs).with_context(|| format!("{}: cannot be read", runs.display()))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        let is_record = |path: &&PathBuf| path.extension().is_some_and(|extension| extension == "json");
        let read = |path: &PathBuf| {
            let next = || format!("{}: is no run of a sweep's; remove it, and it runs again", path.display());
            serde_json::from_str(&fs::read_to_string(path).with_context(next)?).with_context(next)
        };
        paths.iter().filter(is_record).map(read).collect()
    }

    /// Stores the record of a run.
    pub(super) fn store(&self, record: &Record) -> Result<()> {
        self.write(&file_name(&record.point, record.repeat), &serde_json::to_vec_pretty(record)?)
    }

    /// Keeps the timeline of the run that `record` tells of, where there is one.
    pub(super) fn keep_timeline(&self, record: &Record) -> Result<()> {
        let timeline = self.running().join("run.timeline.json");
        if !timeline.exists() {
            return Ok(());
        }
        let name = format!("{}-r{}.timeline.json", record.point.file_name(), record.repeat);
        let kept = self.path.join("timelines");
        fs::create_dir_all(&kept)
            .and_then(|()| fs::rename(&timeline, kept.join(&name)))
            .with_context(|| format!("{}: cannot be kept in {}", timeline.display(), kept.display()))
    }

    /// Forgets a run, so that it runs again.
    pub(super) fn forget(&self, record: &Record) -> Result<()> {
        let path = self.path.join(file_name(&record.point, record.repeat));
        fs::remove_file(&path).with_context(|| format!("{}: cannot be removed", path.display()))
    }

    /// Writes a file beside `name`, puts it on the disk, and renames it when it is complete.
    pub(super) fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        let path = self.path.join(name);
        write_whole(&path, content).with_context(|| {
            format!(
                "{}: cannot be written; the runs that ended before are kept: make room, and the same command continues",
                path.display()
            )
        })
    }
}

fn file_name(point: &Point, repeat: u64) -> String {
    format!("runs/{}-r{repeat}.json", point.file_name())
}

/// What differs, as parts of a sentence.
fn changes(stored: &Settings, typed: &Settings) -> Vec<String> {
    let text = |number: Option<u64>| number.map(|number| number.to_string());
    let differs = |name: &str, stored: Option<String>, typed: Option<String>| {
        let usual = || "as usual".to_owned();
        (stored != typed)
            .then(|| format!("{name} {} and not {}", stored.unwrap_or_else(usual), typed.unwrap_or_else(usual)))
    };
    let all = [
        differs("steps", text(Some(stored.steps)), text(Some(typed.steps))),
        differs("seed", text(Some(stored.seed)), text(Some(typed.seed))),
        differs("classes", text(stored.classes), text(typed.classes)),
        differs("data", stored.data.clone(), typed.data.clone()),
    ];
    all.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{point, record};

    fn settings() -> Settings {
        Settings { steps: 5, seed: 1, classes: Some(10), data: Some("d".to_owned()) }
    }

    #[test]
    fn a_folder_remembers_its_runs() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("new/sweep");
        let record = record::example(point::example("lenet5", 4), 2, &[5, 4, 3, 2]);
        {
            let folder = Folder::open(&path, &settings()).expect("made");
            folder.store(&record).expect("stored");
            let busy = Folder::open(&path, &settings()).err().expect("held").to_string();
            assert!(busy.contains("another sweep works in this folder now"), "{busy}");
        }
        // What a write that was cut off leaves is no record.
        fs::write(path.join("runs/.x.partial"), "{").expect("written");
        let folder = Folder::open(&path, &settings()).expect("there");
        assert_eq!(folder.records().expect("whole"), std::slice::from_ref(&record));
        folder.forget(&record).expect("there");
        assert_eq!(folder.records().expect("whole"), []);
    }

    #[test]
    fn other_settings_are_refused_by_name() {
        let place = tempfile::tempdir().expect("a folder");
        drop(Folder::open(place.path(), &settings()).expect("made"));
        let other = Settings { steps: 6, data: Some("e".to_owned()), ..settings() };
        let problem = Folder::open(place.path(), &other).err().expect("refused").to_string();
        assert!(problem.contains("steps 5 and not 6, data d and not e"), "{problem}");
    }
}
