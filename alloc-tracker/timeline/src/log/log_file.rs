//! Keeps a log in a file beside the timeline to come, and writes it anew when it has grown long.
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::beside::{busy, path_beside};
use super::compact::{Compacted, Compaction};
use super::writer::Writer;
use crate::kept_file::KeptFile;
use crate::record::Record;

/// A log that is longer than this, and twice as long as when it was last written anew, is written anew; in bytes.
const LIMIT: u64 = 32 << 20;

/// A log in a file.
///
/// Most of what stands in a long log is no longer of use: of all its samples a timeline keeps two thousand. So a log that
/// has grown long is replaced by a shorter one that gives the same timeline, in three steps:
///
/// 1. [`LogFile::compaction`] says that it is time, and what has to be written. From now on the lines that the log takes
///    in are kept in memory as well.
/// 2. [`Compaction::write`] writes the shorter log, on any thread. The long log grows on and stays the one that counts,
///    should the process be killed.
/// 3. [`LogFile::replace`] adds the lines that came meanwhile to the shorter log, and renames it over the long one.
#[derive(Debug)]
pub struct LogFile {
    path: PathBuf,
    writer: Writer<KeptFile>,
    limit: u64,
    /// The lines since a compaction began.
    since: Option<Vec<u8>>,
}

impl LogFile {
    /// Creates the log of the timeline at `timeline`.
    ///
    /// # Errors
    /// When the folder cannot be written to, or another recording writes there.
    pub fn create(timeline: impl AsRef<Path>) -> io::Result<Self> {
        let path = path_beside(timeline);
        let taken = |error: io::Error| if error.kind() == io::ErrorKind::ResourceBusy { busy() } else { error };
        let file = KeptFile::create_locked(&path).map_err(taken)?;
        Ok(LogFile { path, writer: Writer::new(file), limit: LIMIT, since: None })
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes in one record; it reaches the file with [`LogFile::flush`].
    pub fn record(&mut self, record: &Record) {
        let line = self.writer.record(record);
        if let Some(since) = &mut self.since {
            since.extend_from_slice(line);
        }
    }

    /// Hands what was recorded to the operating system, which keeps it even if the process is killed.
    ///
    /// # Errors
    /// The first error of the file, once; see [`Writer::flush`]. The log ends there.
    pub fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// The shorter log that is to be written, when it is time for one. `records` are those of the timeline so far: see
    /// [`Assembler::records`](crate::Assembler::records). No other begins before [`LogFile::replace`].
    pub fn compaction(&mut self, records: impl FnOnce() -> Vec<Record>) -> Option<Compaction> {
        if self.writer.bytes() <= self.limit || self.since.is_some() || self.writer.failed() {
            return None;
        }
        self.since = Some(Vec::new());
        Some(Compaction { records: records(), path: self.partial() })
    }

    /// Puts the shorter log in the place of the long one.
    ///
    /// # Errors
    /// When it was not written, or cannot be renamed. The long log goes on.
    pub fn replace(&mut self, compacted: io::Result<Compacted>) -> io::Result<()> {
        let Some(since) = self.since.take() else { return Ok(()) };
        if self.writer.failed() {
            self.remove_partial();
            return Ok(());
        }
        let replaced = compacted.and_then(|Compacted { mut writer }| {
            writer.lines(&since);
            writer.flush()?;
            writer.sink().rename(&self.path)?;
            Ok(writer)
        });
        match replaced {
            Ok(writer) => {
                self.limit = LIMIT.max(2 * writer.bytes());
                // Lines that the long log has not been handed yet are among those that the shorter one has.
                self.writer = writer;
                Ok(())
            }
            Err(error) => {
                self.remove_partial();
                // The long log has all lines. Perhaps there is room for a shorter one later.
                self.limit = 2 * self.writer.bytes();
                Err(error)
            }
        }
    }

    /// Gives up a shorter log that nobody waits for any more. To be called when no thread writes one.
    pub fn cancel(&mut self) {
        if self.since.take().is_some() {
            self.remove_partial();
        }
    }

    /// Removes the log: its timeline is stored.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(mut self) -> io::Result<()> {
        self.cancel();
        fs::remove_file(&self.path)
    }

    /// Where the shorter log is written.
    fn partial(&self) -> PathBuf {
        let mut path = self.path.as_os_str().to_owned();
        path.push(".partial");
        path.into()
    }

    fn remove_partial(&self) {
        // It may not even have been created. A leftover does no harm: the next run writes over it.
        let _ = fs::remove_file(self.partial());
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::BufReader;

    use super::super::beside::{is_being_written, set_aside};
    use super::super::recover::recover;
    use super::*;
    use crate::assemble::Assembler;
    use crate::file::{FORMAT_VERSION, Machine, Timeline};
    use crate::record::Sample;
    use crate::scope::{Category, Scope};

    /// A log and the timeline that it tells, as a recorder keeps both.
    struct Recorder {
        log: LogFile,
        assembler: Assembler,
    }

    impl Recorder {
        /// A recorder that has recorded `samples`, in a log that is to be compacted when it is longer than `limit`.
        fn with_samples(folder: &Path, samples: u64, limit: u64) -> Self {
            let log = LogFile::create(folder.join("run.timeline.json")).expect("a log");
            let mut recorder = Recorder { log: LogFile { limit, ..log }, assembler: Assembler::new() };
            recorder.record(Record::Start {
                format_version: FORMAT_VERSION,
                run: Default::default(),
                machine: Machine::default(),
                allocator: Default::default(),
                interval_ns: 1,
            });
            recorder.record(Record::Scope(Scope::default()));
            (1..=samples).for_each(|time| recorder.record(sample(time)));
            recorder.log.flush().expect("room");
            recorder
        }

        fn record(&mut self, record: Record) {
            self.log.record(&record);
            self.assembler.apply(record);
        }

        fn compaction(&mut self) -> Option<Compaction> {
            self.log.compaction(|| self.assembler.records())
        }

        fn log_bytes(&self) -> u64 {
            fs::metadata(self.log.path()).expect("the log").len()
        }

        fn recovered(&self) -> Timeline {
            let log = BufReader::new(File::open(self.log.path()).expect("the log"));
            recover(log, self.log.path()).expect("a log").timeline
        }
    }

    fn sample(time_ns: u64) -> Record {
        let rows = vec![(0, Category::Other, time_ns)];
        Record::Sample(Sample { time_ns, live_bytes: time_ns, high_bytes: time_ns, rows, ..Sample::default() })
    }

    fn files(folder: &Path) -> Vec<String> {
        let files = fs::read_dir(folder).expect("the folder");
        files.map(|file| file.expect("a file").file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_log_is_being_written_as_long_as_its_recorder_has_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut recorder = Recorder::with_samples(folder.path(), 100, 1);
        let log = recorder.log.path().to_owned();
        assert!(is_being_written(&log));
        let compaction = recorder.compaction().expect("it is long");
        recorder.log.replace(compaction.write()).expect("room");
        assert!(is_being_written(&log), "the shorter one");
        drop(recorder);
        assert!(!is_being_written(&log));
        assert!(!is_being_written(&folder.path().join("none")));
    }

    #[test]
    fn the_log_of_an_earlier_run_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let timeline = folder.path().join("run.timeline.json");
        assert_eq!(set_aside(&timeline).expect("nothing is there"), None);
        let running = Recorder::with_samples(folder.path(), 1, 1);
        let refused = set_aside(&timeline).expect_err("it is being written");
        assert_eq!(refused.kind(), io::ErrorKind::ResourceBusy);
        drop(running);
        for number in 1..3 {
            let aside = folder.path().join(format!("run.earlier-{number}.timeline.json.log"));
            assert_eq!(set_aside(&timeline).expect("it can be renamed"), Some(aside.clone()));
            assert!(fs::metadata(aside).expect("the log").len() > 0);
            Recorder::with_samples(folder.path(), 1, 1);
        }
    }

    #[test]
    fn the_log_lies_beside_the_timeline() {
        assert_eq!(path_beside("runs/x.timeline.json"), Path::new("runs/x.timeline.json.log"));
    }

    /// The log that takes the place of a long one tells the same, with what came while it was written; and it is shorter:
    /// of 5,000 samples at most 2,048 are left.
    #[test]
    fn a_log_that_is_written_anew_tells_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut recorder = Recorder::with_samples(folder.path(), 5_000, 100_000);
        let before = recorder.log_bytes();

        let compaction = recorder.compaction().expect("time for a shorter one");
        assert!(recorder.compaction().is_none(), "one at a time");
        let thread = std::thread::spawn(|| compaction.write());
        recorder.record(sample(6_000));
        recorder.log.flush().expect("room");
        recorder.record(sample(6_500));
        recorder.log.replace(thread.join().expect("a thread")).expect("a shorter log");
        assert_eq!(files(folder.path()), ["run.timeline.json.log"]);
        let after = recorder.log_bytes();
        assert!(after < before / 2, "{before} {after}");
        assert_eq!(recorder.log.limit, LIMIT);

        recorder.record(sample(7_000));
        recorder.log.flush().expect("room");
        let timeline = recorder.recovered();
        assert_eq!(timeline.series.time_ns.last_chunk(), Some(&[5_000, 6_000, 6_500, 7_000]));
        assert_eq!(timeline.series, recorder.assembler.clone().timeline().series);
    }

    /// What was recorded and not flushed when the compaction began stands in the shorter log once.
    #[test]
    fn nothing_is_told_twice() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut recorder = Recorder::with_samples(folder.path(), 10, 0);
        recorder.record(Record::Scope(Scope { phase: "forward".into(), ..Scope::default() }));
        let compaction = recorder.compaction().expect("time for a shorter one");
        recorder.record(Record::Scope(Scope { phase: "backward".into(), ..Scope::default() }));
        recorder.log.replace(compaction.write()).expect("a shorter log");
        let phases: Vec<String> = recorder.recovered().scopes.into_iter().map(|scope| scope.phase).collect();
        assert_eq!(phases, ["", "forward", "backward"]);
    }

    /// The long log goes on, and is written anew when it is twice as long.
    #[test]
    fn a_shorter_log_that_fails_leaves_the_long_one_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut recorder = Recorder::with_samples(folder.path(), 10, 0);
        let compaction = recorder.compaction().expect("time for a shorter one");
        // A folder in its place.
        fs::create_dir(&compaction.path).expect("a folder");
        let failed = compaction.write();
        assert!(failed.is_err());
        fs::remove_dir(recorder.log.partial()).expect("no folder");
        fs::write(recorder.log.partial(), "half").expect("a part of it");
        assert!(recorder.log.replace(failed).is_err());
        recorder.record(sample(11));
        recorder.log.flush().expect("room");
        assert!(recorder.compaction().is_none(), "it is not twice as long");
        assert_eq!(recorder.recovered().series.time_ns.len(), 11);
        assert_eq!(files(folder.path()), ["run.timeline.json.log"]);
        (12..60).for_each(|time| recorder.record(sample(time)));
        recorder.log.flush().expect("room");
        let compaction = recorder.compaction().expect("time for a shorter one");
        recorder.log.replace(compaction.write()).expect("room");
        assert_eq!(recorder.recovered().series.time_ns.len(), 59);
    }

    #[test]
    fn a_removed_log_leaves_nothing_of_a_shorter_one_either() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut recorder = Recorder::with_samples(folder.path(), 10, 0);
        let compaction = recorder.compaction().expect("time for a shorter one");
        drop(compaction.write().expect("a shorter log"));
        recorder.log.remove().expect("no log");
        assert_eq!(files(folder.path()), Vec::<String>::new());
    }
}
