//! Where the records go: into the timeline that grows in memory, and into the log beside the file to come, which is
//! what a killed process leaves behind.
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use alloc_timeline::{Assembler, Record, Timeline, store};

/// A log that has grown beyond this, and to twice its length when it was last begun anew, is begun anew from what the
/// memory holds; in bytes.
const LOG_LIMIT: u64 = 32 << 20;

/// See the module's description.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    log_path: PathBuf,
    log: Option<File>,
    log_bytes: u64,
    limit: u64,
    buffer: Vec<u8>,
    /// What went into the log since a shorter one is being written; that must have it as well.
    since: Option<Vec<u8>>,
    assembler: Assembler,
    /// What went wrong, in words.
    pub losses: Vec<String>,
}

/// Where the log of the timeline at `path` lies.
pub fn log_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".log");
    name.into()
}

impl Output {
    /// Opens the log; fails when the folder cannot be written to.
    pub fn open(path: PathBuf) -> std::io::Result<Self> {
        let log_path = log_path(&path);
        let log = Some(File::create(&log_path)?);
        let assembler = Assembler::new();
        Ok(Output {
            path,
            log_path,
            log,
            log_bytes: 0,
            limit: LOG_LIMIT,
            buffer: Vec::new(),
            since: None,
            assembler,
            losses: Vec::new(),
        })
    }

    /// Takes in one record; it reaches the disk with [`Output::flush`].
    pub fn record(&mut self, record: Record) {
        if self.log.is_some() {
            // Writing to memory, and no map with keys that are not strings: this cannot fail.
            let _ = serde_json::to_writer(&mut self.buffer, &record);
            self.buffer.push(b'\n');
        }
        self.assembler.apply(record);
    }

    /// Hands what was recorded to the operating system, which keeps it even if the process is killed.
    pub fn flush(&mut self) {
        if let Some(log) = &mut self.log
            && !self.buffer.is_empty()
        {
            match log.write_all(&self.buffer) {
                Ok(()) => self.log_bytes += self.buffer.len() as u64,
                Err(error) => {
                    self.losses.push(format!("the log {} ends early: {error}", self.log_path.display()));
                    self.log = None;
                }
            }
            if let Some(since) = &mut self.since {
                since.extend_from_slice(&self.buffer);
            }
            self.buffer.clear();
        }
    }

    /// Where a shorter log is written before it takes the place of the log.
    fn partial(&self) -> PathBuf {
        self.log_path.with_extension("log.partial")
    }

    /// The records of a shorter log that gives the same timeline, and where it shall be written, when it is time for one.
    /// To be answered by [`Output::shortened`].
    pub fn too_long(&mut self) -> Option<(Vec<Record>, PathBuf)> {
        if self.log_bytes <= self.limit || self.since.is_some() || self.log.is_none() {
            return None;
        }
        self.since = Some(Vec::new());
        Some((self.assembler.records(), self.partial()))
    }

    /// Puts the shorter log in place of the log.
    pub fn shortened(&mut self, written: std::io::Result<(File, u64)>) {
        let Some(since) = self.since.take() else { return };
        if self.log.is_none() {
            let _ = std::fs::remove_file(self.partial());
            return;
        }
        let replaced = written.and_then(|(mut log, bytes)| {
            log.write_all(&since)?;
            std::fs::rename(self.partial(), &self.log_path)?;
            Ok((log, bytes + since.len() as u64))
        });
        match replaced {
            Ok((log, bytes)) => {
                (self.log, self.log_bytes) = (Some(log), bytes);
                self.limit = LOG_LIMIT.max(2 * bytes);
            }
            Err(error) => {
                let _ = std::fs::remove_file(self.partial());
                self.losses.push(format!("the log {} grows no further: {error}", self.log_path.display()));
                self.log = None;
            }
        }
    }

    /// Writes the timeline so far, with `last` at its end, beside the one to come: `NAME.WORD-1.timeline.json`.
    pub fn dump(&self, word: &str, number: u32, last: Vec<Record>) -> (PathBuf, std::io::Result<()>) {
        let mut assembler = self.assembler.clone();
        last.into_iter().for_each(|record| assembler.apply(record));
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        let name = file.strip_suffix(".timeline.json").or(file.strip_suffix(".json")).unwrap_or(&file);
        let path = self.path.with_file_name(format!("{name}.{word}-{number}.timeline.json"));
        let stored = store(&assembler.timeline(), &path);
        (path, stored)
    }

    /// Writes the timeline and removes the log. On an error the log stays.
    pub fn finish(mut self) -> (PathBuf, std::io::Result<()>, Timeline) {
        self.flush();
        if self.since.is_some() {
            // A shorter log that nobody waited for.
            let _ = std::fs::remove_file(self.partial());
        }
        let timeline = self.assembler.timeline();
        let stored = store(&timeline, &self.path);
        if stored.is_ok() {
            let _ = std::fs::remove_file(&self.log_path);
        }
        (self.path, stored, timeline)
    }
}

#[cfg(test)]
mod tests {
    use alloc_timeline::{Category, Machine, Sample, Scope};

    use super::super::aside::{Aside, Done, Job};
    use super::*;

    fn sample(time_ns: u64) -> Record {
        let rows = vec![(0, Category::Other, time_ns)];
        Record::Sample(Sample { time_ns, live_bytes: time_ns, high_bytes: time_ns, rows, ..Sample::default() })
    }

    /// What `viewer recover` would make of the log.
    fn recovered(log: &Path) -> Timeline {
        let mut assembler = Assembler::new();
        let text = std::fs::read_to_string(log).expect("the log");
        text.lines().for_each(|line| assembler.apply(serde_json::from_str(line).expect("a record")));
        assembler.timeline()
    }

    /// The log that takes the place of a long one tells the same, with what came while it was written; and it is shorter:
    /// of 5,000 samples at most 2,048 are left.
    #[test]
    fn a_log_that_is_begun_anew_tells_the_same() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut output = Output::open(folder.path().join("run.timeline.json")).expect("a log");
        output.limit = 100_000;
        output.record(Record::Start {
            format_version: alloc_timeline::FORMAT_VERSION,
            run: Default::default(),
            machine: Machine::default(),
            allocator: Default::default(),
            interval_ns: 1,
        });
        output.record(Record::Scope(Scope::default()));
        (1..=5_000).for_each(|time| output.record(sample(time)));
        output.flush();
        let before = std::fs::metadata(&output.log_path).expect("the log").len();

        let (records, path) = output.too_long().expect("time for a shorter one");
        assert!(output.too_long().is_none(), "one at a time");
        let aside = Aside::start().expect("a thread");
        aside.ask(Job::Log(records, path));
        output.record(sample(6_000));
        output.flush();
        let Some(Done::Log(written)) = aside.wait() else { panic!("no log") };
        output.shortened(written);
        assert_eq!(output.losses, Vec::<String>::new());
        assert!(!output.partial().exists());
        let after = std::fs::metadata(&output.log_path).expect("the log").len();
        assert!(after < before / 2, "{before} {after}");

        output.record(sample(7_000));
        output.flush();
        let timeline = recovered(&output.log_path);
        assert_eq!(timeline.series.time_ns.last_chunk(), Some(&[5_000, 6_000, 7_000]));
        assert_eq!(timeline.series, output.assembler.clone().timeline().series);
    }
}
