//! `viewer series FILE [--by WHAT] [--json]`: live bytes over time. The names of the JSON fields never change.
use alloc_timeline::{Dimension, Timeline};
use anyhow::Result;
use serde::Serialize;

use crate::analysis::{Band, curve};
use crate::cli::args::SeriesArgs;
use crate::cli::outcome::Outcome;
use crate::cli::output;
use crate::load::load;
use crate::view::chart;

/// What `series --json` prints.
#[derive(Serialize)]
struct Series {
    /// What the bytes are split by.
    dimension: Dimension,
    /// The instants, since the session began.
    time_ns: Vec<u64>,
    /// One for each name, the biggest at the peak first.
    bands: Vec<Band>,
    /// The live bytes of each instant: the sum of the bands.
    live_bytes: Vec<u64>,
    /// The most live bytes between the instant before and this one.
    high_bytes: Vec<u64>,
    /// The resident set, where it was read.
    resident: Vec<Resident>,
    /// When each step began and ended.
    steps: Vec<Span>,
}

/// The resident set at one instant.
#[derive(Serialize)]
struct Resident {
    time_ns: u64,
    bytes: u64,
}

/// One step.
#[derive(Serialize)]
struct Span {
    index: u64,
    start_ns: u64,
    end_ns: u64,
}

impl Series {
    fn of(timeline: &Timeline, args: &SeriesArgs) -> Series {
        let dimension = args.dimension.into();
        let curve = curve(timeline, dimension, args.top).thinned(args.columns);
        let resident = curve.rss.into_iter().map(|(time_ns, bytes)| Resident { time_ns, bytes });
        let steps = timeline.steps.iter();
        Series {
            dimension,
            time_ns: curve.time_ns,
            bands: curve.bands,
            live_bytes: curve.total,
            high_bytes: curve.high,
            resident: resident.collect(),
            steps: steps.map(|step| Span { index: step.index, start_ns: step.start_ns, end_ns: step.end_ns }).collect(),
        }
    }
}

pub(super) fn run(args: &SeriesArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    Ok(Outcome::Fine(match args.json {
        true => output::json(&Series::of(&run.timeline, args))?,
        false => chart(&run, args.dimension.into(), output::terminal()),
    }))
}
