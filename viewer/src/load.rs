//! Reads timelines from disk, gives each a label of its own, and tells the user what to do about a file that cannot be
//! read.
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use alloc_timeline::log::path_beside;
use alloc_timeline::{LoadError, Record};
use anyhow::{Result, anyhow};

use crate::model::{DeviceSnapshot, Run, in_shell};

/// Reads one timeline.
///
/// # Errors
/// When the file cannot be read as a timeline. The message says what the user can do about it.
pub fn load(path: impl AsRef<Path>) -> Result<Run> {
    let path = path.as_ref();
    match alloc_timeline::load(path) {
        Ok(timeline) => Ok(Run::new(path, timeline)),
        Err(error) => Err(anyhow!(with_next_step(error))),
    }
}

/// Reads a snapshot of PyTorch's caching allocator.
///
/// # Errors
/// When the file cannot be read as one. The message says what the user can do about it.
pub fn load_device_snapshot(path: impl AsRef<Path>) -> Result<DeviceSnapshot> {
    let path = path.as_ref();
    let next = "give a file that torch.cuda.memory._dump_snapshot has written";
    let read = std::fs::read(path).map_err(|error| error.to_string());
    let read = read.and_then(|bytes| DeviceSnapshot::from_pickle(&bytes));
    read.map_err(|problem| anyhow!("{}: {problem}; {next}", path.display()))
}

/// Reads several timelines. Each run gets a label that no other run has.
///
/// # Errors
/// When any of the files cannot be read as a timeline. The message has one line for each of them.
pub fn load_all(paths: &[impl AsRef<Path>]) -> Result<Vec<Run>> {
    let mut runs = Vec::new();
    let mut problems = Vec::new();
    for path in paths {
        match load(path) {
            Ok(run) => runs.push(run),
            Err(problem) => problems.push(problem.to_string()),
        }
    }
    if !problems.is_empty() {
        return Err(anyhow!(problems.join("\n")));
    }
    make_labels_unique(&mut runs);
    Ok(runs)
}

/// The error with its cause, and what the user can do about it.
fn with_next_step(error: LoadError) -> String {
    let next = next_step(&error);
    format!("{:#}; {next}", anyhow::Error::from(error))
}

/// What the user can do about a file that could not be read.
fn next_step(error: &LoadError) -> String {
    match error {
        LoadError::Io { path, .. } | LoadError::Empty { path } | LoadError::Truncated { path, .. }
            if path_beside(path).exists() =>
        {
            format!("its log is there: rebuild it with `viewer recover {}`", in_shell(&path_beside(path)))
        }
        LoadError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            "check the path, or see `viewer --help` for the commands".to_owned()
        }
        LoadError::Io { .. } => "check that it is a file that you may read".to_owned(),
        LoadError::NotATimeline { path, .. } | LoadError::Truncated { path, .. } if is_log(path) => {
            format!("this is a recorder's log: turn it into a timeline with `viewer recover {}` first", in_shell(path))
        }
        LoadError::Empty { .. } | LoadError::Truncated { .. } => {
            "run it again, or rebuild it from the recorder's log, if there is one, with `viewer recover LOG`".to_owned()
        }
        LoadError::NotATimeline { .. } => "give a `*.timeline.json` that a recording session wrote".to_owned(),
        LoadError::Newer { .. } => "nothing in it was read".to_owned(),
        LoadError::Damaged { .. } => {
            "record it again; if nobody edited the file, this is a bug in the recorder: please report it".to_owned()
        }
        _ => "use a newer viewer".to_owned(),
    }
}

/// No first record of a log is longer, in bytes.
const LONGEST_FIRST_RECORD: u64 = 16 << 20;

/// Whether the first line of the file is a record of a recorder's log.
pub fn is_log(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    let mut line = Vec::new();
    // Other files may be one long line.
    match BufReader::new(file.take(LONGEST_FIRST_RECORD)).read_until(b'\n', &mut line) {
        Ok(_) => serde_json::from_slice::<Record>(&line).is_ok(),
        Err(_) => false,
    }
}

/// Gives each run a label that no other run has: its name, and in front of it as many folders as are needed.
fn make_labels_unique(runs: &mut [Run]) {
    // Folders cannot tell a file from itself: a file that was given twice gets numbers.
    let paths: Vec<PathBuf> = runs.iter().map(|run| run.path.clone()).collect();
    for (index, run) in runs.iter_mut().enumerate() {
        if paths.iter().filter(|path| **path == run.path).count() > 1 {
            run.label = format!("{} #{}", run.label, index + 1);
        }
    }
    for steps_up in 1.. {
        let labels: Vec<String> = runs.iter().map(|run| run.label.clone()).collect();
        let repeated = |label: &String| labels.iter().filter(|other| *other == label).count() > 1;
        if !labels.iter().any(repeated) {
            return;
        }
        for (index, run) in runs.iter_mut().enumerate().filter(|(index, _)| repeated(&labels[*index])) {
            run.label = match folder_above(&run.path, steps_up) {
                Some(folder) => format!("{folder}/{}", run.label),
                None => format!("{} #{}", run.label, index + 1),
            };
        }
    }
}

/// The name of the folder that is `steps_up` steps above the file, if there is one.
fn folder_above(path: &Path, steps_up: usize) -> Option<String> {
    path.ancestors().nth(steps_up)?.file_name().map(|name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;

    fn labels(paths: &[&str]) -> Vec<String> {
        let mut runs: Vec<Run> = paths.iter().map(|path| Run::new(path, tiny())).collect();
        make_labels_unique(&mut runs);
        runs.into_iter().map(|run| run.label).collect()
    }

    #[test]
    fn runs_of_one_name_are_told_apart_by_their_folders() {
        assert_eq!(labels(&["a/x.timeline.json", "b/y.timeline.json"]), ["x", "y"]);
        assert_eq!(labels(&["a/x.timeline.json", "b/x.timeline.json"]), ["a/x", "b/x"]);
        assert_eq!(labels(&["1/a/x.json", "2/a/x.json"]), ["1/a/x", "2/a/x"]);
    }

    #[test]
    fn the_same_file_twice_still_gets_two_labels() {
        assert_eq!(labels(&["a/x.json", "y.json", "a/x.json"]), ["x #1", "y", "x #3"]);
        assert_eq!(labels(&["x.json", "./x.json"]), ["x #1", "x #2"]);
    }
}
