//! Finds the timeline that a command wrote, or the log that it left when it was killed.
use std::ffi::OsString;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use alloc_timeline::{Timeline, log};

/// What a command left.
pub(super) struct Found {
    /// The timeline, or the log that it was recovered from.
    pub(super) path: PathBuf,
    pub(super) timeline: Timeline,
}

/// The newest timeline or log that was written since `began`: one that an argument of `command` names, as `FILE` or
/// `--flag=FILE`, or one in the current folder.
pub(super) fn find(command: &[OsString], began: SystemTime) -> Option<Found> {
    let mut candidates: Vec<PathBuf> = Vec::new();
    for argument in command {
        let text = argument.to_string_lossy();
        for path in [text.split_once('=').map_or(&*text, |(_, value)| value), &text] {
            candidates.extend([PathBuf::from(path), log::path_beside(path)]);
        }
    }
    let here = std::fs::read_dir(".").into_iter().flatten().flatten();
    candidates.extend(here.map(|entry| entry.path()));
    newest(candidates, began).and_then(|path| read(&path))
}

/// The newest of those that are called as timelines or logs are.
fn newest(candidates: Vec<PathBuf>, began: SystemTime) -> Option<PathBuf> {
    let is_ours = |path: &Path| {
        let name = path.to_string_lossy();
        name.ends_with(".timeline.json") || name.ends_with(".json.log")
    };
    let written = |path: PathBuf| {
        let metadata = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
        let time = metadata.modified().ok()?;
        (time >= began).then_some((time, path))
    };
    candidates.into_iter().filter(|path| is_ours(path)).filter_map(written).max().map(|(_, path)| path)
}

/// Reads a timeline, or recovers it. A log without a single whole record is nothing.
fn read(path: &Path) -> Option<Found> {
    let timeline = if path.extension().is_some_and(|extension| extension == "log") {
        log::recover(BufReader::new(File::open(path).ok()?), path).ok()?.timeline
    } else {
        alloc_timeline::load(path).ok()?
    };
    Some(Found { path: path.to_owned(), timeline })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc_timeline::{Assembler, Ending};
    use std::time::Duration;

    /// A killed run leaves a log and no timeline; a file of an earlier run does not count.
    #[test]
    fn the_log_of_a_killed_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("a.timeline.json");
        let mut text = Vec::new();
        log::write_all(&Assembler::new().records(), &mut text).expect("written");
        std::fs::write(log::path_beside(&out), text).expect("written");
        let command = [OsString::from("trainer"), format!("--out={}", out.display()).into()];
        let began = SystemTime::now() - Duration::from_secs(60);
        let found = find(&command, began).expect("the log");
        assert_eq!(found.path, log::path_beside(&out));
        assert_eq!(found.timeline.ending, Ending::Recovered);
        assert!(find(&command, SystemTime::now() + Duration::from_secs(60)).is_none(), "nothing is that new");
    }
}
