//! The folder of the pages: what was measured, and what is made of it.
//!
//! ```text
//! OUT/results/ROW-DEPTH.json     everything that was measured for a row; whole or not there; DEPTH is quick or full
//!     index.md                   made of these, as are the pages and pictures
//!     row-ROW-DEPTH.md, row-ROW-DEPTH-*.svg
//!     running/ROW-DEPTH/         what an interrupted run has measured so far; gone when the row is done
//! ```
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::results::{Conditions, Depth, Results, name};
use crate::written::write_whole;

/// The folder, held by this process alone.
pub(super) struct Folder {
    path: PathBuf,
    /// Locked until this ends, also by a kill.
    _lock: File,
}

impl Folder {
    /// Opens `path`, or makes it.
    ///
    /// # Errors
    /// When it cannot be written, or another process works there now.
    pub(super) fn open(path: &Path) -> Result<Folder> {
        let cannot = || format!("{}: this output folder cannot be made; change --out", path.display());
        let running = path.join("running");
        fs::create_dir_all(path.join("results")).and_then(|()| fs::create_dir_all(&running)).with_context(cannot)?;
        let lock = File::create(running.join("lock")).with_context(cannot)?;
        match lock.try_lock() {
            Ok(()) => Ok(Folder { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "{}: another reproduction works in this folder now; wait for its end, or change --out",
                    path.display()
                )
            }
            Err(TryLockError::Error(error)) => Err(error).with_context(cannot),
        }
    }

    /// The results of a row whose measurements have all ended.
    pub(super) fn done(&self, row: u8, depth: Depth) -> Result<Option<Results>> {
        read(&in_results(&self.path, row, depth))
    }

    /// The results so far of a row that was interrupted under the same conditions; else none, and what others left of it is
    /// removed.
    pub(super) fn begun(&self, row: u8, conditions: &Conditions) -> Result<Results> {
        let folder = self.running(row, conditions.depth);
        // What cannot be read was left by another version of this program.
        match read(&folder.join("results.json")) {
            Ok(Some(results)) if results.conditions == *conditions => Ok(results),
            _ => {
                if folder.exists() {
                    fs::remove_dir_all(&folder).with_context(|| format!("{}: cannot be removed", folder.display()))?;
                }
                fs::create_dir_all(&folder).with_context(|| format!("{}: cannot be made", folder.display()))?;
                let results = Results { row, conditions: conditions.clone(), measured: Vec::new() };
                self.store_begun(&results)?;
                Ok(results)
            }
        }
    }

    /// Whether an interrupted run left something of a row.
    pub(super) fn has_begun(&self, row: u8, depth: Depth) -> bool {
        self.running(row, depth).join("results.json").exists()
    }

    /// Where a measurement of a row may leave files. They stay until the row is done, so that a sweep in them goes on.
    pub(super) fn work(&self, row: u8, depth: Depth, measurement: &str) -> PathBuf {
        self.running(row, depth).join(measurement)
    }

    /// Stores what was measured so far.
    pub(super) fn store_begun(&self, results: &Results) -> Result<()> {
        write(&self.running(results.row, results.conditions.depth).join("results.json"), &json(results)?)
    }

    /// Stores all results of a row.
    pub(super) fn store_done(&self, results: &Results) -> Result<()> {
        write(&in_results(&self.path, results.row, results.conditions.depth), &json(results)?)?;
        let folder = self.running(results.row, results.conditions.depth);
        fs::remove_dir_all(&folder).with_context(|| format!("{}: cannot be removed", folder.display()))
    }

    /// Writes all pages and pictures, and removes those that no row has any more.
    pub(super) fn write_pages(&self, pages: &BTreeMap<String, String>) -> Result<()> {
        for (name, content) in pages {
            write(&self.path.join(name), content.as_bytes())?;
        }
        for name in made(&self.path)? {
            if !pages.contains_key(&name) {
                let path = self.path.join(name);
                fs::remove_file(&path).with_context(|| format!("{}: cannot be removed", path.display()))?;
            }
        }
        Ok(())
    }

    fn running(&self, row: u8, depth: Depth) -> PathBuf {
        self.path.join("running").join(name(row, depth))
    }
}

/// All complete results in `folder`, by row and depth.
pub(super) fn all(folder: &Path) -> Result<BTreeMap<(u8, Depth), Results>> {
    let files = (1..=21).flat_map(|row| Depth::ALL.map(|depth| (row, depth)));
    let read = |(row, depth)| Ok(read(&in_results(folder, row, depth))?.map(|results| ((row, depth), results)));
    files.filter_map(|file| read(file).transpose()).collect()
}

fn in_results(folder: &Path, row: u8, depth: Depth) -> PathBuf {
    folder.join("results").join(name(row, depth) + ".json")
}

/// The names of the pages and pictures in `folder`.
pub(super) fn made(folder: &Path) -> Result<BTreeSet<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("{}: cannot be read", folder.display()))?;
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let is_made = |name: &String| name == "index.md" || name.starts_with("row-");
    Ok(names.filter(is_made).collect())
}

fn read(path: &Path) -> Result<Option<Results>> {
    let Ok(text) = fs::read_to_string(path) else { return Ok(None) };
    let next = || format!("{}: is no file of results; remove it, and the row is measured again", path.display());
    serde_json::from_str(&text).map(Some).with_context(next)
}

fn json(results: &Results) -> Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(results)?;
    text.push(b'\n');
    Ok(text)
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    write_whole(path, content).with_context(|| {
        format!(
            "{}: cannot be written; what was measured before is kept: make room, and the same command continues",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::results::{self, Outcome};
    use serde_json::json;

    #[test]
    fn an_interrupted_row_goes_on_under_the_same_conditions_alone() {
        let place = tempfile::tempdir().expect("a folder");
        let results = results::example(4, vec![("conv", Outcome::Done(json!({ "ms": 1.5 })))]);
        {
            let folder = Folder::open(place.path()).expect("made");
            folder.begun(4, &results.conditions).expect("new");
            folder.store_begun(&results).expect("stored");
            let busy = Folder::open(place.path()).err().expect("held").to_string();
            assert!(busy.contains("another reproduction works in this folder now"), "{busy}");
        }
        let folder = Folder::open(place.path()).expect("there");
        assert_eq!(folder.begun(4, &results.conditions).expect("there"), results);
        assert_eq!(folder.done(4, Depth::Quick).expect("readable"), None, "it is not done yet");
        let other = Conditions { commit: None, ..results.conditions.clone() };
        assert_eq!(folder.begun(4, &other).expect("new").measured, []);
        folder.store_done(&results).expect("stored");
        assert_eq!(folder.done(4, Depth::Quick).expect("readable"), Some(results));
        assert_eq!(folder.done(4, Depth::Full).expect("readable"), None, "a quick run has files of its own");
        assert!(!place.path().join("running/4-quick").exists());
    }

    #[test]
    fn pages_that_no_row_has_are_removed() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::open(place.path()).expect("made");
        for name in ["row-04-old.svg", "kept.txt"] {
            fs::write(place.path().join(name), "").expect("written");
        }
        folder.write_pages(&[("index.md".to_owned(), "text".to_owned())].into()).expect("written");
        assert_eq!(made(place.path()).expect("read"), ["index.md".to_owned()].into());
        assert!(place.path().join("kept.txt").exists());
    }
}
