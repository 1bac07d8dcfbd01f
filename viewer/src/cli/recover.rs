//! `viewer recover LOG [-o OUT]`: a timeline from what a process wrote down before it was killed.
//!
//! A log is one record a line. The last line may be cut short; should another line be unreadable, reading ends there,
//! because records build on those before them. Either way it is said how much was left out, here and in the timeline.
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use alloc_timeline::{Assembler, FORMAT_VERSION, Record, Timeline, encode, parse, store};
use anyhow::{Context, Result, anyhow, bail};

use crate::cli::args::RecoverArgs;
use crate::cli::{Outcome, output};
use crate::model::{exact, size, time};

/// What came out of a log.
#[derive(Debug)]
pub struct Recovered {
    /// The run, as far as it was written down.
    pub timeline: Timeline,
    /// How many records were read.
    pub records: u64,
    /// Bytes at the end of the log that were not.
    pub skipped: u64,
    /// Bytes of the log.
    pub total: u64,
}

pub(super) fn run(args: &RecoverArgs) -> Result<Outcome> {
    let out = match &args.output {
        Some(out) => out.clone(),
        None => default_output(&args.log)?,
    };
    output::refuse_inputs(&out, &[&args.log])?;
    let file =
        File::open(&args.log).with_context(|| format!("{}: cannot be read; check the path", args.log.display()))?;
    let recovered = assemble(BufReader::new(file), &args.log)?;
    // What viewer could not read back must not be written.
    let mut bytes = Vec::new();
    encode(&recovered.timeline, &mut bytes).context("the timeline cannot be written as JSON")?;
    parse(&bytes, &args.log).map_err(|error| {
        anyhow!("{error}; the log's records contradict each other: this is a bug in the recorder, please report it")
    })?;
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
    if recovered.skipped > 0 {
        text.push_str(&format!(
            "skipped the last {} of {} bytes: they hold no complete record\n",
            exact(recovered.skipped),
            exact(recovered.total)
        ));
    }
    Ok(Outcome::Fine(text))
}

/// Reads records up to the first line that is none; `path` is what errors call the log.
///
/// # Errors
/// When the log cannot be read, or is none, or not the log of one run.
pub fn assemble(mut log: impl BufRead, path: &Path) -> Result<Recovered> {
    let shown = path.display();
    let mut assembler = Assembler::new();
    let (mut records, mut read, mut total) = (0u64, 0u64, 0u64);
    let mut line = Vec::new();
    loop {
        line.clear();
        let count = log.read_until(b'\n', &mut line).with_context(|| format!("{shown}: cannot be read further"))?;
        total += count as u64;
        if count == 0 {
            break;
        }
        match serde_json::from_slice::<Record>(&line) {
            Ok(record) => {
                let starts = matches!(record, Record::Start { .. });
                if let Record::Start { format_version, .. } = &record
                    && *format_version > FORMAT_VERSION
                {
                    bail!(
                        "{shown}: log of format version {format_version}, newer than this viewer reads ({FORMAT_VERSION}); use a newer viewer"
                    );
                }
                if starts == assembler.started() {
                    let problem = if starts { "a second start" } else { "no start at its beginning" };
                    bail!("{shown}: not a recorder's log: it has {problem}; give the log of one run");
                }
                assembler.apply(record);
                records += 1;
                read = total;
            }
            Err(_) if line.iter().all(u8::is_ascii_whitespace) => read = total,
            Err(_) => {
                total += std::io::copy(&mut log, &mut std::io::sink())
                    .with_context(|| format!("{shown}: cannot be read further"))?;
                break;
            }
        }
    }
    match (assembler.started(), total) {
        (true, _) => {}
        (false, 0) => bail!("{shown}: the log is empty; the run ended before it recorded anything"),
        (false, _) => {
            bail!("{shown}: not a recorder's log: its first line is no record; give the log that a session left behind")
        }
    }
    let mut timeline = assembler.timeline();
    let skipped = total - read;
    if skipped > 0 {
        timeline
            .tracker
            .losses
            .push(format!("recovered from a log whose last {skipped} bytes hold no complete record"));
    }
    Ok(Recovered { timeline, records, skipped, total })
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

    fn start() -> String {
        r#"{"start":{"format_version":1,"run":{"model":"lenet"},"machine":{"os":"","arch":"","kernel":"","cpu":"","cpus":1,"page_bytes":4096,"memory_bytes":0},"allocator":{"backend":"","version":"","config":{},"doors":[]},"interval_ns":1}}"#.to_owned() + "\n"
    }

    fn read(text: &str) -> Result<Recovered> {
        assemble(text.as_bytes(), Path::new("x.log"))
    }

    #[test]
    fn a_last_line_cut_short_is_skipped_and_counted() {
        let recovered = read(&(start() + "{\"run\":[\"a\",1]}\n{\"run\":[\"b")).unwrap();
        assert_eq!((recovered.records, recovered.skipped), (2, 10));
        assert_eq!(recovered.timeline.run["a"], 1);
        assert_eq!(recovered.timeline.tracker.losses.len(), 1);
    }

    #[test]
    fn reading_ends_at_the_first_line_that_is_no_record() {
        let recovered = read(&(start() + "rubbish\n{\"run\":[\"b\",1]}\n")).unwrap();
        assert_eq!((recovered.records, recovered.skipped), (1, 8 + 16));
    }

    #[test]
    fn what_is_no_log_is_refused() {
        let problem = |text: &str| read(text).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(problem("").contains("empty"));
        assert!(problem("hello\n").contains("not a recorder's log"));
        assert!(problem("{\"run\":[\"a\",1]}\n").contains("no start"));
        assert!(problem(&(start() + &start())).contains("second start"));
        assert!(problem(&start().replace("\"format_version\":1", "\"format_version\":2")).contains("newer"));
    }

    #[test]
    fn the_timeline_is_named_after_the_log() {
        let out = |log: &str| default_output(Path::new(log)).unwrap();
        assert_eq!(out("no/such/x.timeline.log"), Path::new("no/such/x.timeline.json"));
        assert_eq!(out("no/x.timeline.json.partial"), Path::new("no/x.timeline.json"));
    }
}
