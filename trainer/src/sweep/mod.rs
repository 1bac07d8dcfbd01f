//! `trainer sweep`: every combination of many settings, each in processes of its own, in rounds.
//!
//! ```text
//! flags or TOML -> points -> what cannot fit is told -> rounds of runs -> a file each -> tables, statistics, pictures, page
//!                              a sweep that was ended goes on with the runs that have no file yet
//! ```
mod asked;
mod point;

mod planned;
mod record;
mod room;

mod folder;

mod conditions;

mod measure;
mod table;

mod statistics;

mod pictures;

mod page;
mod report;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use self::asked::Asked;
use self::folder::{Folder, Settings};
use self::measure::Runner;
use self::planned::{Forecast, Planned};
use self::record::{Conditions, Outcome, Record};
use crate::cli::{Count, SweepArgs};
use crate::rounds::{self, Pace, Progress};
use crate::{console, exit_code, interrupt};

/// What is usual where nothing is typed.
const REPEAT: u64 = 3;
const STEPS: u64 = 10;
const SEED: u64 = 1;

/// Runs what `args` ask for, or the rest of it. The exit code is 0 when every point has a result, be it the reason why it
/// has no numbers; 2 when no run at all gave numbers; 130 when the user ended it.
pub fn sweep(args: &SweepArgs) -> Result<ExitCode> {
    let asked = Asked::of(args)?;
    let common = &asked.common;
    let settings = Settings {
        steps: common.steps.map_or(STEPS, |Count(steps)| steps),
        seed: common.seed.unwrap_or(SEED),
        classes: common.classes.map(|Count(classes)| classes),
        data: common.data.as_ref().map(|folder| folder.display().to_string()),
    };
    let repeat = common.repeat.map_or(REPEAT, |Count(repeat)| repeat);
    let points = planned::points(&asked)?;
    let program = std::env::current_exe().context("cannot find this program's own file to start it again")?;
    let programs = program.parent().unwrap_or(Path::new(".")).to_owned();
    let conditions = conditions::conditions(&settings, &programs);
    let folder = Folder::open(&out(args), &settings)?;
    let mut records = known(&folder, &points, args.retry)?;
    for other in record::others(&records, &conditions) {
        console::print_error_line(&format!(
            "note: the folder has runs of {other}; the statistics take all runs together"
        ));
    }
    let refused = refused(&points, args.anyway, &conditions);
    console::print_error_line(&told(&points, repeat, &records, &refused));
    ensure!(refused.len() < points.len(), "no point of this sweep can run; the reasons stand above");

    interrupt::listen()?;
    let runs = rounds::order(points.len(), repeat, settings.seed);
    let running = folder.running();
    let runner = Runner { programs: &programs, conditions: &conditions, running: &running };
    let ran = run(&points, &runs, &refused, &mut records, &folder, &runner, args.timelines);
    let _ = std::fs::remove_dir_all(&running);
    let finished = ran?;
    // What ended is shown, also when the user ended the sweep before the last run.
    records.extend(refused);
    let title = args.file.as_ref().map_or("Sweep".to_owned(), |file| format!("Sweep {}", file.display()));
    let said = report::write(&folder, &title, &points, &records, &conditions)?;
    console::print_result(&if args.json { said.json.to_string() } else { said.table })?;
    if !finished {
        console::print_error_line("interrupted: the runs that ended are kept; the same command does the rest");
        return Ok(ExitCode::from(exit_code::INTERRUPTED));
    }
    Ok(if said.numbers { ExitCode::SUCCESS } else { ExitCode::from(exit_code::FAILED) })
}

/// The folder of the results.
fn out(args: &SweepArgs) -> PathBuf {
    let of_file = || args.file.as_ref().and_then(|file| file.file_stem()).map(PathBuf::from);
    args.out.clone().or_else(of_file).unwrap_or_else(|| "sweep".into())
}

/// The records that the folder has of `points`. With `retry` those that failed are forgotten.
fn known(folder: &Folder, points: &[Planned], retry: bool) -> Result<Vec<Record>> {
    let asked: BTreeSet<_> = points.iter().map(|planned| &planned.point).collect();
    let (mut records, others): (Vec<Record>, Vec<Record>) =
        folder.records()?.into_iter().partition(|record| asked.contains(&record.point));
    if !others.is_empty() {
        console::print_error_line(&format!(
            "note: the folder has {} run(s) of points that are not asked for now; they are left out",
            others.len()
        ));
    }
    if retry {
        for record in records.extract_if(.., |record| record.outcome != Outcome::Done) {
            folder.forget(&record)?;
        }
    }
    Ok(records)
}

/// A record for each point that is not to be started.
fn refused(points: &[Planned], anyway: bool, conditions: &Conditions) -> Vec<Record> {
    let free = if anyway { None } else { room::free_bytes() };
    let record = |planned: &Planned| {
        let forecast = planned.forecast();
        let (outcome, reason) = match (forecast.too_large(free), forecast) {
            (_, Forecast::Misfit(reason)) => (Outcome::Misfit, reason),
            (Some(reason), _) => (Outcome::TooLarge, reason),
            (None, _) => return None,
        };
        Some(Record {
            point: planned.point.clone(),
            repeat: 0,
            outcome,
            reason: Some(reason),
            measured: None,
            started_unix_s: 0,
            wall_ns: 0,
            conditions: conditions::of(planned, conditions),
        })
    };
    points.iter().filter_map(record).collect()
}

/// What is about to happen, and each point that is not started.
fn told(points: &[Planned], repeat: u64, records: &[Record], refused: &[Record]) -> String {
    let runs = (points.len() - refused.len()) as u64 * repeat;
    let mut text = format!(
        "{} point(s), {repeat} run(s) each: {runs} run(s), {} of them ended before",
        points.len(),
        records.len()
    );
    if !refused.is_empty() {
        text.push_str(&format!("\nThese do not run ({}; --anyway runs what is too large):", refused.len()));
    }
    // Reasons are sentences, which would make a table wider than any terminal.
    for record in refused {
        let reason = record.reason.as_deref().unwrap_or_default();
        text.push_str(&format!("\n  {}\n      {}: {reason}", record.point, record.outcome.as_str()));
    }
    text
}

/// Does the runs that have no record yet, and stores each. Returns whether all were done; the user may have ended it.
fn run(
    points: &[Planned],
    runs: &[(usize, u64)],
    refused: &[Record],
    records: &mut Vec<Record>,
    folder: &Folder,
    runner: &Runner<'_>,
    timelines: bool,
) -> Result<bool> {
    let mut pace = Pace::default();
    let place = |record: &Record| points.iter().position(|planned| planned.point == record.point);
    for record in records.iter() {
        pace.add(place(record).unwrap_or(0), Duration::from_nanos(record.wall_ns));
    }
    let not_started = |point: usize| refused.iter().any(|record| record.point == points[point].point);
    let ended = |records: &[Record], point: usize, repeat: u64| {
        records.iter().any(|record| {
            // A point that failed once is not run again and again.
            record.point == points[point].point && (record.repeat == repeat || record.outcome != Outcome::Done)
        })
    };
    let all: Vec<(usize, u64)> = runs.iter().copied().filter(|&(point, _)| !not_started(point)).collect();
    let left = |records: &[Record], from: usize| -> Vec<usize> {
        all[from..].iter().filter(|&&(point, repeat)| !ended(records, point, repeat)).map(|&(point, _)| point).collect()
    };
    let mut progress = Progress::new(all.len(), all.len() - left(records, 0).len());
    for (index, &(point, repeat)) in all.iter().enumerate() {
        if ended(records, point, repeat) {
            continue;
        }
        if interrupt::requested() {
            return Ok(false);
        }
        let Some(record) = runner.run(&points[point], repeat)? else { return Ok(false) };
        if timelines {
            folder.keep_timeline(&record)?;
        }
        folder.store(&record)?;
        pace.add(point, Duration::from_nanos(record.wall_ns));
        let text = report::line(&record);
        records.push(record);
        progress.ended(&text, pace.left(left(records, index + 1).into_iter()));
    }
    Ok(true)
}
