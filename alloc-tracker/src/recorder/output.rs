//! The destination of records: the timeline that is assembled in memory, and the log beside the file. A process that is
//! killed leaves the log behind.
use std::io;
use std::path::PathBuf;

use alloc_timeline::log::{self, Compacted, Compaction, LogFile};
use alloc_timeline::{Assembler, Record};

/// A timeline that is being recorded, in memory and in the log.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    log: LogFile,
    assembler: Assembler,
    losses: Vec<String>,
    set_aside: Option<PathBuf>,
}

/// The result of [`Output::finish`].
#[derive(Debug)]
pub struct Finished {
    /// The path of the timeline.
    pub path: PathBuf,
    /// The path of the log beside it.
    pub log: PathBuf,
    /// Whether the timeline was written.
    pub stored: io::Result<()>,
    /// The most live bytes.
    pub peak_bytes: u64,
    /// What was lost, one sentence for each loss.
    pub losses: Vec<String>,
}

impl Output {
    /// Opens the log for a timeline that will be written to `path`. The log of an earlier run that was killed gets another name.
    ///
    /// # Errors
    /// When the folder cannot be written to, or another recording writes to it, or the path is that of a folder.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        if path.file_name().is_none() || path.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let set_aside = log::set_aside(&path)?;
        let log = LogFile::create(&path)?;
        Ok(Output { path, log, assembler: Assembler::new(), losses: Vec::new(), set_aside })
    }

    /// Where the log of an earlier run is now that had the name of this one's; says so once.
    pub fn take_set_aside(&mut self) -> Option<PathBuf> {
        self.set_aside.take()
    }

    /// Adds one record. [`Output::flush`] hands it to the operating system.
    pub fn record(&mut self, record: Record) {
        let record = self.assembler.shortest(record);
        self.log.record(&record);
        self.assembler.apply(record);
    }

    /// Hands the records so far to the operating system, which keeps them even if the process is killed.
    pub fn flush(&mut self) {
        if let Err(error) = self.log.flush() {
            self.lose(format!("the log {} ends early: {error}", self.log.path().display()));
        }
    }

    /// Adds a loss: a sentence that says what went wrong.
    pub fn lose(&mut self, what: String) {
        self.losses.push(what);
    }

    /// The losses so far.
    pub fn losses(&self) -> &[String] {
        &self.losses
    }

    /// The work of writing a shorter log, if the log has become long enough for that. Its result goes to
    /// [`Output::replace_log`].
    pub fn compaction(&mut self) -> Option<Compaction> {
        self.log.compaction(|| self.assembler.records())
    }

    /// Replaces the log by the shorter one.
    pub fn replace_log(&mut self, compacted: io::Result<Compacted>) {
        if let Err(error) = self.log.replace(compacted) {
            self.lose(format!(
                "the log {} could not be written anew and stays long: {error}",
                self.log.path().display()
            ));
        }
    }

    /// Writes a dump: the timeline so far with the records `last` at its end. It lies beside the timeline and is called
    /// `NAME.WORD-NUMBER.timeline.json`.
    pub fn dump(&self, word: &str, number: u32, last: Vec<Record>) -> (PathBuf, io::Result<()>) {
        let mut assembler = self.assembler.clone();
        last.into_iter().for_each(|record| assembler.apply(record));
        let path = self.dump_path(word, number);
        let stored = assembler.store(&path);
        (path, stored)
    }

    /// The path of a dump.
    pub fn dump_path(&self, word: &str, number: u32) -> PathBuf {
        alloc_timeline::dump_path(&self.path, word, number)
    }

    /// Removes the log and writes no timeline.
    pub fn discard(self) {
        // A log that cannot be removed tells of a recording that nobody wanted, and does no other harm.
        let _ = self.log.remove();
    }

    /// Writes the timeline and removes the log. On an error the log stays.
    pub fn finish(mut self) -> Finished {
        self.flush();
        let stored = self.assembler.store(&self.path);
        let log = self.log.path().to_owned();
        if stored.is_ok() {
            // The timeline is written, so a log that cannot be removed does no harm.
            let _ = self.log.remove();
        } else {
            self.log.cancel();
        }
        Finished { path: self.path, log, stored, peak_bytes: self.assembler.peak_bytes(), losses: self.losses }
    }
}
