//! Where the records go: into the timeline that grows in memory, and into the log beside the file to come, which is
//! what a killed process leaves behind.
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use alloc_timeline::{Assembler, Record, Timeline, store};

/// A log that has grown beyond this is begun anew from what the memory holds, in bytes.
const LOG_LIMIT: u64 = 32 << 20;

/// See the module's description.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    log_path: PathBuf,
    log: Option<File>,
    log_bytes: u64,
    buffer: Vec<u8>,
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
        Ok(Output { path, log_path, log, log_bytes: 0, buffer: Vec::new(), assembler, losses: Vec::new() })
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
            self.buffer.clear();
            if self.log_bytes > LOG_LIMIT {
                self.begin_anew();
            }
        }
    }

    /// Replaces the log by a shorter one that gives the same timeline.
    fn begin_anew(&mut self) {
        let mut lines = Vec::new();
        for record in self.assembler.records() {
            let _ = serde_json::to_writer(&mut lines, &record);
            lines.push(b'\n');
        }
        let fresh = self.log_path.with_extension("log.partial");
        let written = std::fs::write(&fresh, &lines)
            .and_then(|()| std::fs::rename(&fresh, &self.log_path))
            .and_then(|()| File::options().append(true).open(&self.log_path));
        match written {
            Ok(log) => (self.log, self.log_bytes) = (Some(log), lines.len() as u64),
            Err(error) => {
                self.losses.push(format!("the log {} grows no further: {error}", self.log_path.display()));
                self.log = None;
            }
        }
    }

    /// Writes the timeline and removes the log. On an error the log stays.
    pub fn finish(mut self) -> (PathBuf, std::io::Result<()>, Timeline) {
        self.flush();
        let timeline = self.assembler.timeline();
        let stored = store(&timeline, &self.path);
        if stored.is_ok() {
            let _ = std::fs::remove_file(&self.log_path);
        }
        (self.path, stored, timeline)
    }
}
