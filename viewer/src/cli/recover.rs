//! `viewer recover LOG [-o OUT]`: a timeline from what a process wrote down before it was killed.
//!
//! What a log is and how it is read stands in [`alloc_timeline::log`].
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use alloc_timeline::{log, store};
use anyhow::{Context, Result, bail};

use crate::cli::args::RecoverArgs;
use crate::cli::outcome::Outcome;
use crate::cli::output;
use crate::model::{exact, size, time};
use crate::view::near_limit_text;

pub(super) fn run(args: &RecoverArgs) -> Result<Outcome> {
    let out = match &args.output {
        Some(out) => out.clone(),
        None => default_output(&args.log)?,
    };
    output::refuse_inputs(&out, &[&args.log])?;
    let file =
        File::open(&args.log).with_context(|| format!("{}: cannot be read; check the path", args.log.display()))?;
    let recovered = log::recover(BufReader::new(file), &args.log)?;
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
    Ok(Outcome::Fine(text))
}

/// `NAME.timeline.json` beside the log; an existing file is kept.
fn default_output(log: &Path) -> Result<PathBuf> {
    let file = log.file_name().unwrap_or(log.as_os_str()).to_string_lossy().into_owned();
    let mut name = file.as_str();
    for suffix in [".partial", ".log", ".jsonl", ".json", ".timeline"] {
        name = name.strip_suffix(suffix).unwrap_or(name);
    }
    let out = log.with_file_name(format!("{name}.timeline.json"));
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
    }
}
