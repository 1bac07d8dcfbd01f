//! `viewer reconcile FILE [--at peak|TIME|MARK] [--svg OUT] [--json]`: the account of the resident set at one instant.
use alloc_timeline::{BeyondLine, Book, BookLine, ChildProcesses, DevicePrediction, OutsideFigure};
use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::analysis::{ChosenBook, DeviceFigures, book_at, devices, no_device};
use crate::cli::args::ReconcileArgs;
use crate::cli::outcome::Outcome;
use crate::cli::output;
use crate::load::load;
use crate::model::Run;
use crate::view::{RssExplained, reconcile_text, rss_explained, waterfall_svg};

/// The object that `--json` prints. The field names never change.
#[derive(Serialize)]
struct ReconcileJson<'a> {
    /// What was asked for, as it was typed.
    at: &'a str,
    /// When the book was taken. Null, like the other fields, where there is no book.
    time_ns: Option<u64>,
    /// Whether it is the coarse book of a sample.
    coarse: bool,
    rss_bytes: Option<u64>,
    lines: &'a [BookLine],
    beyond: &'a [BeyondLine],
    rss_over_live: Option<RssExplained>,
    /// The child processes, whatever was asked for; null where there were none.
    child_processes: Option<&'a ChildProcesses>,
    /// The memory of each device, whatever was asked for.
    devices: Vec<DeviceFigures>,
    /// Why there is none. Left out where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    devices_unavailable: Option<String>,
    /// What the tensors would have taken on a device.
    device_predictions: &'a [DevicePrediction],
    /// The fine book of the peak, whatever was asked for.
    book: Option<&'a Book>,
    lanes: &'a [OutsideFigure],
    peak: PeakJson,
}

/// The instant with the most live bytes.
#[derive(Serialize)]
struct PeakJson {
    time_ns: u64,
    live_bytes: u64,
}

pub(super) fn run(args: &ReconcileArgs) -> Result<Outcome> {
    if args.json && args.svg.as_deref().is_some_and(output::is_stdout) {
        bail!("--json and --svg cannot both go to standard output; name a file for the picture");
    }
    let run = load(&args.file)?;
    let in_file = || args.file.display().to_string();
    let chosen = book_at(&run.timeline, &args.at).with_context(in_file)?;
    if let Some(path) = &args.svg {
        let Some(chosen) = &chosen else { bail!("{}: it has no book, so there is nothing to draw", in_file()) };
        output::write(path, &waterfall_svg(&run, chosen), &[&args.file])?;
        if output::is_stdout(path) {
            return Ok(Outcome::Fine(String::new()));
        }
    }
    if args.json {
        return Ok(Outcome::Fine(output::json(&as_json(&run, &args.at, chosen.as_ref()))?));
    }
    let mut text = format!("{}\n\n{}", run.title(), reconcile_text(&run, chosen.as_ref(), output::terminal()));
    if let Some(path) = &args.svg {
        text.push_str(&format!("\nwrote {}\n", path.display()));
    }
    Ok(Outcome::Fine(text))
}

fn as_json<'a>(run: &'a Run, at: &'a str, chosen: Option<&'a ChosenBook<'_>>) -> ReconcileJson<'a> {
    let timeline = &run.timeline;
    let book = chosen.map(|chosen| &*chosen.book);
    ReconcileJson {
        at,
        time_ns: book.map(|book| book.time_ns),
        coarse: chosen.is_some_and(|chosen| chosen.coarse),
        rss_bytes: book.map(|book| book.rss_bytes),
        lines: book.map_or(&[], |book| &book.lines),
        beyond: book.map_or(&[], |book| &book.beyond),
        rss_over_live: book.and_then(|book| rss_explained(book, timeline)),
        child_processes: timeline.child_processes.as_ref(),
        devices: devices(run),
        devices_unavailable: no_device(run),
        device_predictions: &timeline.device_predictions,
        book: timeline.book.as_ref(),
        lanes: &timeline.lanes,
        peak: PeakJson { time_ns: timeline.peak.time_ns, live_bytes: timeline.peak.live_bytes },
    }
}
