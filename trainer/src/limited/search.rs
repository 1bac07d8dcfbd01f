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

/// The newest timeline or log that was written since `began`: of those that the arguments of `command` name, as `FILE` or
/// `--flag=FILE`; if there is none, of those in the current folder.
pub(super) fn find(command: &[OsString], began: SystemTime) -> Option<Found> {
    find_in(command, Path::new("."), began)
}

fn find_in(command: &[OsString], current: &Path, began: SystemTime) -> Option<Found> {
    let mut named: Vec<PathBuf> = Vec::new();
    for argument in command {
        let text = argument.to_string_lossy();
        for path in [text.split_once('=').map_or(&*text, |(_, value)| value), &text] {
            named.extend([PathBuf::from(path), log::path_beside(path)]);
        }
    }
    let here = || std::fs::read_dir(current).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    // What an argument names may be any output of the command's: a timeline is known by its content.
    newest(named, &[".json", ".json.log"], began)
        .and_then(|path| read(&path))
        .or_else(|| read(&newest(here(), &[".timeline.json", ".json.log"], began)?))
}

/// The newest of those whose names end so.
fn newest(candidates: Vec<PathBuf>, endings: &[&str], began: SystemTime) -> Option<PathBuf> {
    let is_ours = |path: &Path| endings.iter().any(|ending| path.to_string_lossy().ends_with(ending));
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
        let found = find_in(&command, folder.path(), began).expect("the log");
        assert_eq!(found.path, log::path_beside(&out));
        assert_eq!(found.timeline.ending, Ending::Recovered);
        let later = SystemTime::now() + Duration::from_secs(60);
        assert!(find_in(&command, folder.path(), later).is_none(), "nothing is that new");
    }

    /// Two commands run side by side in one folder: each one's timeline is the one that it names, not the newest there.
    #[test]
    fn a_named_timeline_comes_before_another_one_in_the_current_folder() {
        let (folder, elsewhere) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let write = |folder: &Path, name: &str| {
            let path = folder.join(name);
            alloc_timeline::store(&Assembler::new().timeline(), &path).expect("written");
            path
        };
        let began = SystemTime::now() - Duration::from_secs(60);
        let own = write(elsewhere.path(), "own.timeline.json");
        let other = write(folder.path(), "other.timeline.json");
        let command = [OsString::from("trainer"), "--out".into(), own.clone().into()];
        assert_eq!(find_in(&command, folder.path(), began).expect("a timeline").path, own);
        assert_eq!(find_in(&command[..2], folder.path(), began).expect("a timeline").path, other);
    }
}
