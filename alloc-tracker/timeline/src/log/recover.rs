//! Makes a timeline of the log that a process left when it was killed.
use std::io::BufRead;
use std::path::{Path, PathBuf};

use super::reader::Reader;
use crate::assemble::Assembler;
use crate::file::{FORMAT_VERSION, Timeline};
use crate::load::{LoadError, parse};
use crate::record::Record;
use crate::store::encode;

/// What came out of a log.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Recovered {
    /// The run, as far as it was written down.
    pub timeline: Timeline,
    /// How many records were read.
    pub records: u64,
    /// Bytes at the end of the log that hold no complete record.
    pub skipped_bytes: u64,
    /// Bytes of the log.
    pub total_bytes: u64,
}

/// Why no timeline came out of a log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecoverError {
    /// The log cannot be read to its end.
    #[error("{path}: cannot be read further")]
    Io {
        /// The log.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Nothing stands in it.
    #[error("{path}: the log is empty; the run ended before it recorded anything")]
    Empty {
        /// The log.
        path: PathBuf,
    },
    /// Its first line is no record.
    #[error("{path}: not a recorder's log: its first line is no record; give the log that a session left behind")]
    NotALog {
        /// The file.
        path: PathBuf,
    },
    /// Its first record is not that of a log's beginning.
    #[error("{path}: not a recorder's log: it has no start at its beginning; give the log of one run")]
    NoStart {
        /// The file.
        path: PathBuf,
    },
    /// Two logs stand in one file.
    #[error("{path}: not a recorder's log: it has a second start; give the log of one run")]
    SecondStart {
        /// The file.
        path: PathBuf,
    },
    /// It was written by a newer version of the recorder.
    #[error(
        "{path}: log of format version {found}, newer than this viewer reads ({FORMAT_VERSION}); use a newer viewer"
    )]
    Newer {
        /// The log.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The timeline of its records is one that [`parse`] refuses.
    #[error("{problem}; the log's records contradict each other: this is a bug in the recorder, please report it")]
    Contradictory {
        /// What [`parse`] says of it. It is part of this error's text, and therefore not its source.
        problem: LoadError,
    },
}

/// Makes a timeline of a log; `path` is what errors call it.
///
/// The last line may be cut short. Should another line be unreadable, reading ends there. Either way the timeline's
/// losses say how much was left out. What is returned can be stored and loaded again.
///
/// # Errors
/// When the log cannot be read, when it is not the log of one run, or when its records contradict each other.
///
/// ```
/// use alloc_timeline::{Assembler, Record, log};
///
/// // The log of a run that was killed while it wrote its second line.
/// let mut log = Vec::new();
/// log::write_all(&Assembler::new().records()[..1], &mut log)?;
/// log.extend(b"{\"sample\":{\"time_");
///
/// let recovered = log::recover(log.as_slice(), "run.timeline.json.log")?;
/// assert_eq!((recovered.records, recovered.skipped_bytes), (1, 17));
/// assert_eq!(recovered.timeline.ending, alloc_timeline::Ending::Recovered);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn recover(log: impl BufRead, path: impl AsRef<Path>) -> Result<Recovered, RecoverError> {
    let path = path.as_ref();
    let path_buf = || path.to_owned();
    let mut assembler = Assembler::new();
    let mut reader = Reader::new(log);
    let mut records = 0;
    for record in &mut reader {
        let record = record.map_err(|source| RecoverError::Io { path: path_buf(), source })?;
        match &record {
            Record::Start { format_version, .. } if *format_version > FORMAT_VERSION => {
                return Err(RecoverError::Newer { path: path_buf(), found: *format_version });
            }
            Record::Start { .. } if assembler.started() => return Err(RecoverError::SecondStart { path: path_buf() }),
            Record::Start { .. } => {}
            _ if !assembler.started() => return Err(RecoverError::NoStart { path: path_buf() }),
            _ => {}
        }
        assembler.apply(record);
        records += 1;
    }
    let (skipped_bytes, total_bytes) = (reader.skipped_bytes(), reader.total_bytes());
    if !assembler.started() {
        let path = path_buf();
        return Err(if total_bytes == 0 { RecoverError::Empty { path } } else { RecoverError::NotALog { path } });
    }
    let mut timeline = assembler.timeline();
    if skipped_bytes > 0 {
        timeline
            .tracker
            .losses
            .push(format!("recovered from a log whose last {skipped_bytes} bytes hold no complete record"));
    }
    check(&timeline, path).map_err(|problem| RecoverError::Contradictory { problem })?;
    Ok(Recovered { timeline, records, skipped_bytes, total_bytes })
}

/// Whether `timeline` can be read back once it is stored.
fn check(timeline: &Timeline, path: &Path) -> Result<(), LoadError> {
    let mut bytes = Vec::new();
    // Should it not be written whole, it is not read whole either.
    let _ = encode(timeline, &mut bytes);
    parse(&bytes, path).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start() -> String {
        r#"{"start":{"format_version":1,"run":{"model":"lenet"},"machine":{"os":"","arch":"","kernel":"","cpu":"","cpus":1,"page_bytes":4096,"memory_bytes":0},"allocator":{"backend":"","version":"","config":{},"doors":[]},"interval_ns":1}}"#.to_owned() + "\n"
    }

    fn read(text: &str) -> Result<Recovered, RecoverError> {
        recover(text.as_bytes(), "x.log")
    }

    #[test]
    fn a_last_line_cut_short_is_skipped_and_counted() {
        let recovered = read(&(start() + "{\"run\":[\"a\",1]}\n{\"run\":[\"b")).unwrap();
        assert_eq!((recovered.records, recovered.skipped_bytes), (2, 10));
        assert_eq!(recovered.timeline.run["a"], 1);
        assert_eq!(recovered.timeline.tracker.losses.len(), 1);
    }

    #[test]
    fn reading_ends_at_the_first_line_that_is_no_record() {
        let recovered = read(&(start() + "rubbish\n{\"run\":[\"b\",1]}\n")).unwrap();
        assert_eq!((recovered.records, recovered.skipped_bytes), (1, 8 + 16));
    }

    #[test]
    fn what_is_no_log_is_refused() {
        let problem = |text: &str| read(text).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(problem("").contains("empty"));
        assert!(problem("hello\n").contains("not a recorder's log"));
        assert!(problem("{\"run\":[\"a\",1]}\n").contains("no start"));
        assert!(problem(&(start() + &start())).contains("second start"));
        assert!(problem(&start().replace("\"format_version\":1", "\"format_version\":2")).contains("newer"));
    }

    #[test]
    fn records_that_contradict_each_other_are_refused() {
        let peak =
            r#"{"peak":{"time_ns":1,"live_bytes":5,"requested_bytes":5,"slack_bytes":0,"rows":[]}}"#.to_owned() + "\n";
        let error = read(&(start() + &peak)).unwrap_err();
        assert!(matches!(&error, RecoverError::Contradictory { .. }), "{error:?}");
        let said = error.to_string();
        assert!(said.starts_with("x.log: damaged timeline: the rows of \"peak\" do not sum to its live_bytes, 5; "));
        assert!(std::error::Error::source(&error).is_none(), "the cause is told once");
    }
}
