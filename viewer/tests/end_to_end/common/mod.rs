//! Shared by the end-to-end tests: the binary, a folder for its files, and made-up runs that look like real ones.
#![allow(dead_code)] // Each test file uses only a part of this module.

pub mod books;
pub mod nets;
pub mod simulation;
pub mod times;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use alloc_timeline::Timeline;

/// Exit code, standard output and standard error of one call of the binary.
#[derive(Debug)]
pub struct Answer {
    pub code: i32,
    pub out: String,
    pub err: String,
}

/// Calls the binary with these arguments.
pub fn viewer<S: AsRef<std::ffi::OsStr>>(args: &[S]) -> Answer {
    let output = Command::new(env!("CARGO_BIN_EXE_viewer")).args(args).stdin(Stdio::null()).output().unwrap();
    Answer {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A folder for timelines and outputs. It is removed after the test.
pub struct Folder(tempfile::TempDir);

impl Folder {
    pub fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        shown(&path)
    }

    pub fn store(&self, name: &str, timeline: &Timeline) -> String {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        alloc_timeline::store(timeline, &path).unwrap();
        shown(&path)
    }

    /// `text` with `DIR` in place of the folder's path, which differs from run to run.
    pub fn neutral(&self, text: &str) -> String {
        text.replace(&shown(self.0.path()), "DIR")
    }
}

pub fn shown(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
