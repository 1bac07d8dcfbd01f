//! What the tool writes: standard output and files.
use std::borrow::Cow;
use std::fs;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use alloc_timeline::{leads_to_stream, store_by};
use anyhow::{Context, Result, bail};

use crate::model::{is_unfit_in_lines, name_of};
use crate::view::Terminal;

/// Prints `text`. It is no error when the reader has closed the pipe, as `head` does.
pub(super) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    let text = if out.is_terminal() { Cow::Owned(for_terminal(text)) } else { Cow::Borrowed(text) };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("standard output cannot be written; what it leads to may be full")
        }
        _ => Ok(()),
    }
}

/// `text` without control characters: all but line ends, tabs and the colours of charts.
fn for_terminal(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_unfit_in_lines) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let (kept, length) = match colour(from) {
            Some(colour) => (colour, colour.len()),
            None => ("\u{fffd}", from.chars().next().map_or(0, char::len_utf8)),
        };
        out.push_str(kept);
        rest = &from[length..];
    }
    out + rest
}

/// The code of a colour with which `text` begins: ESC, `[`, numbers and `m`.
fn colour(text: &str) -> Option<&str> {
    let numbers = text.strip_prefix("\u{1b}[")?;
    let end = numbers.find(|character: char| !character.is_ascii_digit() && character != ';')?;
    numbers[end..].starts_with('m').then(|| &text[..end + 3])
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
    } else if is_stdout(path) {
        return print(text);
    } else {
        store_by(path, |out| out.write_all(text.as_bytes()))
    };
    written.with_context(|| {
        format!("{}: cannot be written; choose another place, or make room or the folder writable", path.display())
    })
}

/// The line that tells of the file at `path`; none where the file is standard output, which would have it in itself.
pub(super) fn wrote(path: &Path) -> String {
    if is_stdout(path) { String::new() } else { format!("wrote {}\n", path.display()) }
}

/// Whether `path` leads to what standard output leads to.
pub(super) fn is_stdout(path: &Path) -> bool {
    leads_to_stream(path, io::stdout())
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
    fn a_terminal_gets_colours_and_no_other_codes() {
        let chart = "\u{1b}[38;2;1;22;255m\u{2588}\u{1b}[0m one\ttwo\n";
        assert_eq!(for_terminal(chart), chart);
        assert_eq!(for_terminal("a\u{1b}[2Jb\u{7}\u{1b}"), "a\u{fffd}[2Jb\u{fffd}\u{fffd}");
    }

    #[test]
    fn outputs_lie_beside_the_input_unless_told_otherwise() {
        let input = Path::new("demo/resnet18-train.timeline.json");
        assert_eq!(beside(input, None, "flame.svg"), Path::new("demo/resnet18-train.flame.svg"));
        assert_eq!(beside(input, Some(Path::new("out")), "timeline.svg"), Path::new("out/resnet18-train.timeline.svg"));
    }
}
