//! Everything that leaves the tool: standard output and files.
use std::fs;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::view::Terminal;

/// Prints `text`. A reader that has seen enough (`| head`) is no error.
pub(super) fn say(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("standard output cannot be written; what it leads to may be full")
        }
        _ => Ok(()),
    }
}

/// One JSON object as text.
pub(super) fn json<T: serde::Serialize>(value: &T) -> Result<String> {
    let mut text = serde_json::to_string_pretty(value).context("the answer cannot be written as JSON")?;
    text.push('\n');
    Ok(text)
}

/// Writes a file, so that there is the whole of it or none. It never replaces one of `inputs`.
pub(super) fn write(path: &Path, text: &str, inputs: &[&Path]) -> Result<()> {
    refuse_inputs(path, inputs)?;
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".{}.partial", std::process::id()));
    let partial = Path::new(&partial);
    let written = if path.is_dir() {
        Err(io::Error::from(ErrorKind::IsADirectory))
    } else if is_special(path) {
        // A pipe or a device is written to, not replaced.
        fs::write(path, text)
    } else {
        fs::write(partial, text).and_then(|()| fs::rename(partial, path)).inspect_err(|_| {
            // The first error is the one to report.
            let _ = fs::remove_file(partial);
        })
    };
    written.with_context(|| {
        format!("{}: cannot be written; choose another place, or make room or the folder writable", path.display())
    })
}

/// Refuses to write over a file that was read.
pub(super) fn refuse_inputs(path: &Path, inputs: &[&Path]) -> Result<()> {
    let Ok(real) = path.canonicalize() else { return Ok(()) };
    if inputs.iter().any(|input| input.canonicalize().is_ok_and(|input| input == real)) {
        bail!("{}: would be written over the file it was made from; give another output", path.display());
    }
    Ok(())
}

/// Makes the folder that outputs go to.
pub(super) fn folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path)
        .with_context(|| format!("{}: no such folder, and it cannot be made; choose another --out", path.display()))
}

fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// What the terminal can do: 80 columns without colours when the output goes elsewhere.
pub(super) fn terminal() -> Terminal {
    if !io::stdout().is_terminal() {
        return Terminal { width: 80, colours: false };
    }
    let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
    Terminal { width, colours: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
}
