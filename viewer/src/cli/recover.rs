//! `viewer recover LOG|FOLDER... [-o OUT]`: timelines from what processes wrote down before they were killed.
//!
//! What a log is and how it is read stands in [`alloc_timeline::log`].
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use alloc_timeline::{log, store};
use anyhow::{Context, Result, anyhow, bail};

use crate::cli::args::RecoverArgs;
use crate::cli::outcome::Outcome;
use crate::cli::output;
use crate::load::is_log;
use crate::model::{exact, size, time};
use crate::view::near_limit_text;

/// How the name of a recorder's log ends.
const LOG: &str = ".timeline.json.log";

pub(super) fn run(args: &RecoverArgs) -> Result<Outcome> {
    if let [path] = args.logs.as_slice()
        && !path.is_dir()
    {
        return recover(path, args.output.as_deref()).map(Outcome::Fine);
    }
    if args.output.is_some() {
        bail!(
            "-o is the name of one timeline: give one log, or leave it out and each timeline is written beside its log"
        );
    }
    let (mut text, mut recovered, mut problems) = (String::new(), 0, Vec::new());
    for path in &args.logs {
        let logs = logs_of(path).unwrap_or_else(|problem| {
            problems.push((path.clone(), problem));
            Vec::new()
        });
        for log in logs {
            match recover(&log, None) {
                Ok(told) => {
                    text.push_str(&told);
                    recovered += 1;
                }
                Err(problem) => problems.push((log, problem)),
            }
        }
    }
    text.push_str(&format!("recovered {recovered} {}", if recovered == 1 { "log" } else { "logs" }));
    if problems.is_empty() {
        return Ok(Outcome::Fine(text + "\n"));
    }
    let names: Vec<String> = problems.iter().map(|(path, _)| path.display().to_string()).collect();
    text.push_str(&format!("; could not recover {}\n", names.join(", ")));
    let problems: Vec<String> = problems.iter().map(|(_, problem)| format!("{problem:#}")).collect();
    Ok(Outcome::Incomplete { text, problems: anyhow!(problems.join("\nviewer: ")) })
}

/// The log itself, or all logs in a folder, sorted.
fn logs_of(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let cannot = || format!("{}: the folder cannot be read; check its permissions", path.display());
    let mut logs = Vec::new();
    for entry in path.read_dir().with_context(cannot)? {
        let file = entry.with_context(cannot)?.path();
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if file.is_file() && (name.ends_with(LOG) || name.ends_with(".log") && is_log(&file)) {
            logs.push(file);
        }
    }
    if logs.is_empty() {
        bail!(
            "{}: there is no recorder's log in this folder (NAME{LOG}); give the folder of the timelines",
            path.display()
        );
    }
    logs.sort_unstable();
    Ok(logs)
}

/// Writes the timeline of one log, and tells of it.
fn recover(path: &Path, output: Option<&Path>) -> Result<String> {
    let file = File::open(path).with_context(|| format!("{}: cannot be read; check the path", path.display()))?;
    // A pipe can be read once.
    if path.is_file() && !is_log(path) && alloc_timeline::load(path).is_ok() {
        bail!("{}: is a timeline, and no log: nothing has to be recovered", path.display());
    }
    let out = match output {
        Some(out) => out.to_owned(),
        None => default_output(path)?,
    };
    output::refuse_inputs(&out, &[path])?;
    let recovered = log::recover(BufReader::new(file), path)?;
    if output::is_stdout(&out) {
        let mut text = Vec::new();
        alloc_timeline::encode(&recovered.timeline, &mut text).context("the timeline cannot be written as JSON")?;
        return String::from_utf8(text).context("the timeline is no text");
    }
    store(&recovered.timeline, &out)
        .with_context(|| format!("{}: cannot be written; choose another place with -o", out.display()))?;
    let peak = &recovered.timeline.peak;
    let mut text = format!(
        "wrote {}: {} of {}, peak {} at {}, from {} records\n",
        out.display(),
        time(recovered.timeline.duration_ns),
        recovered.timeline.run.get("model").map_or("a run".to_owned(), crate::model::text_of),
        size(peak.live_bytes),
        time(peak.time_ns),
        exact(recovered.records)
    );
    if recovered.skipped_bytes > 0 {
        text.push_str(&format!(
            "skipped the last {} of {} bytes: they hold no complete record\n",
            exact(recovered.skipped_bytes),
            exact(recovered.total_bytes)
        ));
    }
    text.push_str(&near_limit_text(&recovered.timeline));
    Ok(text)
}

/// The file beside the log whose log it is, as far as the name tells, and otherwise `NAME.timeline.json`; an existing file is kept.
fn default_output(log: &Path) -> Result<PathBuf> {
    let file = log.file_name().unwrap_or(log.as_os_str()).to_string_lossy().into_owned();
    let whole = file.strip_suffix(".partial").unwrap_or(&file);
    let name = match whole.strip_suffix(".log") {
        Some(timeline) if timeline.ends_with(".json") => timeline.to_owned(),
        _ => {
            let suffixes = [".log", ".jsonl", ".json", ".timeline"];
            let name = suffixes.iter().fold(whole, |name, suffix| name.strip_suffix(suffix).unwrap_or(name));
            format!("{name}.timeline.json")
        }
    };
    let out = log.with_file_name(name);
    if out.exists() {
        bail!("{}: is there already; give -o to say where the timeline goes", out.display());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeline_is_named_after_the_log() {
        let out = |log: &str| default_output(Path::new(log)).unwrap();
        assert_eq!(out("no/such/x.timeline.log"), Path::new("no/such/x.timeline.json"));
        assert_eq!(out("no/x.timeline.json.partial"), Path::new("no/x.timeline.json"));
        assert_eq!(out("no/x.timeline.json.log.partial"), Path::new("no/x.timeline.json"));
        // The recorder was given this very name.
        assert_eq!(out("no/run.json.log"), Path::new("no/run.json"));
    }
}
