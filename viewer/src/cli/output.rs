//! What the tool writes: standard output and files.
use std::fs::{self, File};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::model::name_of;
use crate::view::Terminal;

/// Prints `text`. It is no error when the reader has closed the pipe, as `head` does.
pub(super) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("standard output cannot be written; what it leads to may be full")
        }
        _ => Ok(()),
    }
}

/// Each line with its line end.
pub(super) fn lines(lines: Vec<String>) -> String {
    lines.into_iter().map(|line| line + "\n").collect()
}

/// One JSON object as text.
pub(super) fn json<T: serde::Serialize>(value: &T) -> Result<String> {
    let mut text = serde_json::to_string_pretty(value).context("the answer cannot be written as JSON")?;
    text.push('\n');
    Ok(text)
}

/// Writes a file whole or not at all. It never replaces one of `inputs`.
pub(super) fn write(path: &Path, text: &str, inputs: &[&Path]) -> Result<()> {
    refuse_inputs(path, inputs)?;
    let written = if path.is_dir() {
        Err(io::Error::from(ErrorKind::IsADirectory))
    } else if is_special(path) {
        // A pipe or a device takes the text; a file in its place would be wrong.
        fs::write(path, text)
    } else {
        write_and_rename(path, text)
    };
    written.with_context(|| {
        format!("{}: cannot be written; choose another place, or make room or the folder writable", path.display())
    })
}

/// Writes a new file beside `path` and renames it. The new file is removed when anything fails.
fn write_and_rename(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // `tempfile_in` would create a file that only its owner may read.
    let mut file = tempfile::Builder::new().make_in(folder, |partial| File::create_new(partial))?;
    file.write_all(text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}

/// Refuses to write over a file that was read.
pub(super) fn refuse_inputs(path: &Path, inputs: &[&Path]) -> Result<()> {
    let Ok(real) = path.canonicalize() else { return Ok(()) };
    if inputs.iter().any(|input| input.canonicalize().is_ok_and(|input| input == real)) {
        bail!("{}: would be written over the file it was made from; give another output", path.display());
    }
    Ok(())
}

/// The path of a file called `NAME.suffix`, in the folder of `input` or in another one.
pub(super) fn beside(input: &Path, folder: Option<&Path>, suffix: &str) -> PathBuf {
    let file = format!("{}.{suffix}", name_of(input));
    match folder {
        Some(folder) => folder.join(file),
        None => input.with_file_name(file),
    }
}

/// Creates the folder for the outputs.
pub(super) fn create_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path)
        .with_context(|| format!("{}: no such folder, and it cannot be made; choose another --out", path.display()))
}

fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// The abilities of the terminal: 80 columns without colours when standard output is no terminal.
pub(super) fn terminal() -> Terminal {
    if !io::stdout().is_terminal() {
        return Terminal { width: 80, colours: false };
    }
    let width = terminal_size::terminal_size().map_or(80, |(width, _)| usize::from(width.0));
    Terminal { width, colours: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_lie_beside_the_input_unless_told_otherwise() {
        let input = Path::new("demo/resnet18-train.timeline.json");
        assert_eq!(beside(input, None, "flame.svg"), Path::new("demo/resnet18-train.flame.svg"));
        assert_eq!(beside(input, Some(Path::new("out")), "timeline.svg"), Path::new("out/resnet18-train.timeline.svg"));
    }
}
