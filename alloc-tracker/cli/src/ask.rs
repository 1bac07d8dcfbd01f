//! `dump`, `mark` and `stop`: asking the recorder of a running process, through files in the folder that its environment
//! names. `recorder/control.rs` of alloc-tracker says which files. The process itself is not touched.
use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::args::{MarkArgs, ProcessArgs};
use crate::failure::Failure;

/// How long an answer may take. A dump of a large process takes seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// `alloc-tracker dump PID`.
///
/// # Errors
/// When the process is not being recorded, or does not answer.
pub fn dump(typed: &ProcessArgs) -> Result<u8, Failure> {
    print(&format!("wrote {}", ask(typed.pid, "dump")?))
}

/// `alloc-tracker mark PID NAME`.
///
/// # Errors
/// When the process is not being recorded, or does not answer.
pub fn mark(typed: &MarkArgs) -> Result<u8, Failure> {
    let name = typed.name.replace(['\n', '\r'], " ");
    print(&format!("marked {}", ask(typed.pid, &format!("mark {name}"))?))
}

/// `alloc-tracker stop PID`.
///
/// # Errors
/// When the process is not being recorded, or does not answer.
pub fn stop(typed: &ProcessArgs) -> Result<u8, Failure> {
    print(&format!("wrote {}; the process goes on", ask(typed.pid, "stop")?))
}

/// Prints what was done.
fn print(text: &str) -> Result<u8, Failure> {
    match writeln!(io::stdout(), "{text}") {
        // Nobody listens, and it is done all the same.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::from(anyhow::Error::new(error).context(format!("{text}, but that cannot be printed"))))
        }
        _ => Ok(0),
    }
}

/// Asks the process, and waits for its answer.
fn ask(process: u32, what: &str) -> Result<String> {
    let folder = control_folder(process)?;
    if !folder.join(process.to_string()).exists() {
        bail!("process {process} is not being recorded; see `alloc-tracker record --help`");
    }
    let path = |suffix: &str| folder.join(format!("{process}.{suffix}"));
    let (ask, answer) = (path("ask"), path("answer"));
    // An answer that nobody has waited for would be taken for this one's.
    let _ = fs::remove_file(&answer);
    let whole = path("asking");
    let written = fs::write(&whole, what).and_then(|()| fs::rename(&whole, &ask));
    written.with_context(|| format!("{}: cannot be written; ask as the user who records", ask.display()))?;
    let end = Instant::now() + PATIENCE;
    loop {
        if let Ok(text) = fs::read_to_string(&answer) {
            let _ = fs::remove_file(&answer);
            return told(text.trim_end());
        }
        let gone = !Path::new(&format!("/proc/{process}")).exists();
        if gone || Instant::now() > end {
            let _ = fs::remove_file(&ask);
            let why = if gone { "has ended" } else { "does not answer: its recording may be over, or it is stopped" };
            bail!("process {process} {why}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The answer's text, or its error.
fn told(answer: &str) -> Result<String> {
    match answer.split_once(' ').unwrap_or((answer, "")) {
        ("done", text) => Ok(text.to_owned()),
        (_, text) => bail!("the recorder answers: {text}"),
    }
}

/// The folder that the process's environment names.
fn control_folder(process: u32) -> Result<PathBuf> {
    let file = format!("/proc/{process}/environ");
    let environment = fs::read(&file)
        .with_context(|| format!("process {process}: {file} cannot be read; check the process id, and whose it is"))?;
    match folder_in(&environment) {
        Some(folder) => Ok(folder.to_owned()),
        None => bail!("process {process} was not started by `alloc-tracker record`"),
    }
}

/// The value of `ALLOC_TRACKER_CONTROL` among variables that end with a zero each.
fn folder_in(environment: &[u8]) -> Option<&Path> {
    let mut variables = environment.split(|&byte| byte == 0);
    let value = variables.find_map(|variable| variable.strip_prefix(b"ALLOC_TRACKER_CONTROL="))?;
    Some(Path::new(OsStr::from_bytes(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_one_of_the_variables() {
        let environment = b"A=1\0ALLOC_TRACKER_CONTROL=/run/x y\0B=2\0";
        assert_eq!(folder_in(environment), Some(Path::new("/run/x y")));
        assert_eq!(folder_in(b"A=1\0XALLOC_TRACKER_CONTROL=/run\0"), None);
    }

    #[test]
    fn an_answer_is_a_text_or_an_error() {
        assert_eq!(told("done a b").expect("done"), "a b");
        assert!(told("failed no room").expect_err("failed").to_string().contains("no room"));
    }
}
