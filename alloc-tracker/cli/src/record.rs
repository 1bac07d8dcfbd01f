//! `alloc-tracker record`: everything that can be refused is refused first, then the program runs, then its timelines are
//! told of.
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use alloc_timeline::{behind_links, leads_to_stream, log, sampling};
use anyhow::{Context, Result, bail};

use crate::args::RecordArgs;
use crate::failure::Failure;
use crate::{ended, launch, library, program, python};

/// Runs the program; the result is its exit code.
///
/// # Errors
/// When the program cannot be recorded. It has not been started then.
pub fn run(typed: &RecordArgs) -> Result<u8, Failure> {
    refuse_settings(typed)?;
    let program = program::find(&typed.command[0])?;
    let library = library::find()?;
    let output = output(typed, &program.path)?;
    if let Some(warning) = &program.warning {
        say(&format!("alloc-tracker: {warning}"));
    }
    let python = if typed.no_python { None } else { python() };
    make_way(&output)?;
    let ran = launch::run(typed, &program, &launch::Given { library, python }, &output)?;
    let told = ended::tell(&ran, typed.quiet);
    say(&told.text);
    let code = launch::exit_code(ran.status);
    if told.goes_on {
        // Whoever asks a process that goes on needs the folder.
        let _ = ran.processes.keep();
    }
    Ok(code)
}

/// Refuses what the library would not take.
fn refuse_settings(typed: &RecordArgs) -> Result<()> {
    if typed.stacks != "off" && sampling::parse(&typed.stacks).is_none() {
        let write = "write 512KiB (1 B to 1 TiB), 512KiB,7 with a seed, or off";
        bail!("--stacks {}: is no mean distance between samples; {write}", typed.stacks);
    }
    if !typed.exact && std::env::var_os("ALLOC_TRACKER").is_some_and(|mode| mode == "off") {
        bail!("ALLOC_TRACKER=off is set, so that nothing would be recorded; `unset ALLOC_TRACKER` first");
    }
    Ok(())
}

/// The folder for Python's path. Without it all else is recorded.
fn python() -> Option<PathBuf> {
    let folder = python::start_folder();
    if let Err(problem) = &folder {
        say(&format!("alloc-tracker: PyTorch's layers and phases will not be told: {problem:#}"));
    }
    folder.ok()
}

/// Says it on standard error: standard output is the program's alone.
fn say(text: &str) {
    if !text.is_empty() {
        // Nobody may be listening. The timelines are there all the same.
        let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
    }
}

/// The path of the timelines, with `%p` for the process id. The program may change its folder, so the path is absolute.
fn output(typed: &RecordArgs, program: &Path) -> Result<PathBuf> {
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let output = typed.output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}-%p.timeline.json")));
    let output = std::path::absolute(&output).with_context(|| format!("{}: is no path", output.display()))?;
    // What a link leads to is replaced. Another file would take the place of the link.
    let output = behind_links(&output);
    let folder = output.parent().unwrap_or(Path::new("/"));
    tempfile::tempfile_in(folder).with_context(|| {
        format!("{}: no timeline can be written there; choose another place with -o", folder.display())
    })?;
    if output.to_str().is_none() {
        bail!("{}: the path of a timeline must be UTF-8; choose another with -o", output.display());
    }
    if output.is_dir() {
        bail!("{}: is a folder; name a file in it, such as run-%p.timeline.json", output.display());
    }
    let is_stream = leads_to_stream(&output, io::stdout()) || leads_to_stream(&output, io::stderr());
    if is_stream || output.exists() && !output.is_file() {
        bail!("{}: is no file that can be replaced by a timeline; name another with -o", output.display());
    }
    if log::is_being_written(&log::path_beside(&output)) {
        bail!("{}: is being recorded by a process that runs; name another file with -o", output.display());
    }
    Ok(output)
}

/// Makes way for a timeline at `output`. A library that finds a timeline there, or the log of one, takes it for that of an earlier
/// program of the same process, and keeps it.
fn make_way(output: &Path) -> Result<()> {
    if output.is_file() {
        fs::remove_file(output).with_context(|| format!("{}: cannot be replaced", output.display()))?;
    }
    let cannot = || format!("{}: the log of an earlier run cannot be moved aside", log::path_beside(output).display());
    let Some(aside) = log::set_aside(output).with_context(cannot)? else { return Ok(()) };
    say(&format!("alloc-tracker: the log of an earlier run that was killed is now {}", aside.display()));
    Ok(())
}
