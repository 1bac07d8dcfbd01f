//! Starts the program with the library and its settings in the environment, and waits for its end.
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::args::RecordArgs;
use crate::program::Program;
use crate::signals;

/// What has ended.
#[derive(Debug)]
pub struct Ended {
    /// How.
    pub status: ExitStatus,
    /// The folder in which each recorded process has a file with the paths of its timelines.
    pub processes: TempDir,
    /// The process id of the program.
    pub process: u32,
}

/// What the program is given by its environment.
#[derive(Debug)]
pub struct Given {
    /// The library that is preloaded.
    pub library: PathBuf,
    /// The folder in which Pythons find what watches PyTorch.
    pub python: Option<PathBuf>,
}

/// The program's exit code as shells tell it.
pub fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| Some(128 + status.signal()?));
    code.and_then(|code| u8::try_from(code & 0xff).ok()).unwrap_or(u8::MAX)
}

/// Runs the program to its end.
///
/// # Errors
/// When it cannot be started.
pub fn run(typed: &RecordArgs, program: &Program, given: &Given, output: &Path) -> Result<Ended> {
    let processes = processes_folder()?;
    let mut command = Command::new(&program.path);
    command.args(&typed.command[1..]);
    command.arg0(&typed.command[0]);
    command.env("LD_PRELOAD", before(&given.library, std::env::var_os("LD_PRELOAD")));
    if let Some(folder) = &given.python {
        command.env("PYTHONPATH", before(folder, std::env::var_os("PYTHONPATH")));
    }
    command.env("ALLOC_TRACKER_RECORD", output);
    command.env("ALLOC_TRACKER_FOLLOW", typed.follow.word());
    command.env("ALLOC_TRACKER_RECORDER", std::process::id().to_string());
    command.env("ALLOC_TRACKER_CONTROL", processes.path());
    match typed.stacks.as_str() {
        "off" => command.env_remove("ALLOC_TRACKER_STACKS"),
        mean => command.env("ALLOC_TRACKER_STACKS", mean),
    };
    command.envs(typed.exact.then_some(("ALLOC_TRACKER", "exact")));
    // https://docs.python.org/3/using/cmdline.html#envvar-PYTHONMALLOC
    command.envs(typed.python_objects.then_some(("PYTHONMALLOC", "malloc")));
    command.envs(typed.backend.map(|backend| ("ALLOC_TRACKER_BACKEND", backend.word())));
    signals::keep_pipes_ignored(&mut command);
    signals::catch();
    let started = command.spawn();
    let mut child = started.with_context(|| format!("{}: cannot be started", program.path.display()))?;
    signals::pass_on_to(child.id());
    let status = child.wait();
    signals::over();
    let status = status.context("the end of the program cannot be waited for")?;
    Ok(Ended { status, processes, process: child.id() })
}

/// Makes the folder for what the recorded processes say: where others cannot see what this user runs, or else where everybody may write. The
/// first may be another user's, after `su`.
fn processes_folder() -> Result<TempDir> {
    let make = |folder: &Path| tempfile::Builder::new().prefix("alloc-tracker-").tempdir_in(folder);
    let private = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|folder| folder.is_absolute());
    let private = private.and_then(|folder| make(&folder).ok());
    let folder = std::env::temp_dir();
    private.map_or_else(|| make(&folder), Ok).with_context(|| {
        let what = "no folder can be made there for what the recorded processes say";
        format!("{}: {what}; set TMPDIR to one that you may write to", folder.display())
    })
}

/// The path before those that are set already.
fn before(path: &Path, already: Option<OsString>) -> OsString {
    let mut text = path.as_os_str().to_owned();
    if let Some(already) = already.filter(|already| !already.is_empty()) {
        text.push(":");
        text.push(already);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_is_that_of_shells() {
        assert_eq!(exit_code(ExitStatus::from_raw(0)), 0);
        assert_eq!(exit_code(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(exit_code(ExitStatus::from_raw(libc::SIGKILL)), 137);
    }

    #[test]
    fn what_was_preloaded_before_stays() {
        let library = Path::new("/x.so");
        assert_eq!(before(library, None), "/x.so");
        assert_eq!(before(library, Some("".into())), "/x.so");
        assert_eq!(before(library, Some("/a.so:/b.so".into())), "/x.so:/a.so:/b.so");
    }
}
