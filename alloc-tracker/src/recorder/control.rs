//! What others ask of a running recording, through files in a folder that `ALLOC_TRACKER_CONTROL` names: a dump, a mark,
//! the end. The recorder's thread looks there on its ticks, so the program is not disturbed: no signal, no socket, no
//! thread of its own.
//!
//! | file | written by | content |
//! |---|---|---|
//! | `PID` | the recorder, at its start | one line for each session of the process: the timeline's path |
//! | `PID.refused` | whoever could not start a session | why |
//! | `PID.ask` | `alloc-tracker`, renamed to it when it is whole | `dump`, `mark NAME` or `stop` |
//! | `PID.answer` | the recorder, renamed to it | `done TEXT` or `failed TEXT` |
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::iter;
use std::path::{Path, PathBuf};

use alloc_timeline::kept_file::{KeptFile, read_text};

use crate::settings::control_folder;

/// The files of this process.
#[derive(Debug)]
pub struct Control {
    ask: PathBuf,
    answer: PathBuf,
}

/// What was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A copy of the timeline so far.
    Dump,
    /// A mark of this name, with the table of owners.
    Mark(String),
    /// The end of the recording.
    Stop,
}

impl Control {
    /// Says in the folder that this process records into `timeline`. `None` when the environment names no folder, or the
    /// folder cannot be written to: then nobody can ask, and the recording is none the worse.
    pub fn open(timeline: &Path) -> Option<Control> {
        let process = std::process::id();
        let folder = control_folder()?;
        let own = folder.join(process.to_string());
        // There is a line for each earlier program of this process (`exec`).
        let before = read_text(&own).unwrap_or_default();
        let path = |suffix: &str| folder.join(format!("{process}.{suffix}"));
        write_whole(&path("registering"), &own, &format!("{before}{}\n", timeline.display())).ok()?;
        Some(Control { ask: path("ask"), answer: path("answer") })
    }

    /// What was asked since the last look. A text that means nothing is answered at once.
    pub fn look(&self) -> Option<Asked> {
        let text = read_text(&self.ask).ok()?;
        // Removed before it is answered: whoever asked may ask again as soon as there is an answer.
        fs::remove_file(&self.ask).ok()?;
        let asked = Asked::parse(text.trim_end());
        if asked.is_none() {
            self.answer(&Err(io::Error::other("this recorder knows only dump, mark NAME and stop")));
        }
        asked
    }

    /// Answers what was asked.
    pub fn answer(&self, result: &io::Result<String>) {
        let text = match result {
            Ok(text) => format!("done {text}\n"),
            Err(error) => format!("failed {error}\n"),
        };
        // Whoever asked may have gone meanwhile, and the folder with it.
        let _ = write_whole(&self.answer.with_extension("answering"), &self.answer, &text);
    }
}

/// Says in the folder why this process is not recorded, where the environment names a folder.
pub fn say_refused(error: &dyn Error) {
    let Some(folder) = control_folder() else { return };
    let all = iter::successors(Some(error), |&error| error.source());
    let reasons: Vec<String> = all.map(ToString::to_string).collect();
    let path = |suffix: &str| folder.join(format!("{}.{suffix}", std::process::id()));
    // Who cannot write this either has nobody else to tell.
    let _ = write_whole(&path("refusing"), &path("refused"), &reasons.join(": "));
}

/// Writes a file that nobody sees before it is whole.
fn write_whole(partial: &Path, path: &Path, text: &str) -> io::Result<()> {
    let mut file = KeptFile::create(partial)?;
    file.write_all(text.as_bytes())?;
    file.rename(path)
}

impl Asked {
    fn parse(text: &str) -> Option<Asked> {
        match text.split_once(' ').unwrap_or((text, "")) {
            ("dump", "") => Some(Asked::Dump),
            ("stop", "") => Some(Asked::Stop),
            ("mark", name) if !name.is_empty() => Some(Asked::Mark(name.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_things_can_be_asked() {
        assert_eq!(Asked::parse("dump"), Some(Asked::Dump));
        assert_eq!(Asked::parse("stop"), Some(Asked::Stop));
        assert_eq!(Asked::parse("mark weights loaded"), Some(Asked::Mark("weights loaded".to_owned())));
        for text in ["", "mark", "mark ", "dump 1", "quit"] {
            assert_eq!(Asked::parse(text), None, "{text}");
        }
    }
}
