//! `trainer fit`: whether a training run fits into a budget of memory, from a few small batches and a straight line.
//!
//! ```text
//! small batches, measured -> line -> about where the edge is -> two larger batches, measured -> line -> answer
//!                                                          \-> runs at the edge with the budget as limit (--verify)
//! ```
mod estimate;

mod trial;

mod answer;

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};

use self::answer::{Answer, Verified};
use self::estimate::{Estimate, Point};
use self::trial::{STEPS, Trial, Trials};
use crate::child::Job;
use crate::cli::{FitArgs, WorkArgs};
use crate::model::plan::bytes_an_image;
use crate::settings::Mode;
use crate::{check, console, exit_code, interrupt};

/// The batches that are measured first. One image alone has no batch statistics when the last maps are 1x1.
const FIRST: [u64; 2] = [2, 4];
/// The second ones are these parts of the largest batch that seems to fit, or of `MOST` if that is less.
const PARTS: [u64; 2] = [4, 2];
const MOST: u64 = 64;

/// Answers the question of `args`. The exit code is 0 for an answer, whichever it is, and 2 when runs at the edge
/// contradict it.
pub fn fit(args: &FitArgs) -> Result<ExitCode> {
    let asked = &args.work;
    check::sizes(args.model, asked.batch, asked.image_size, asked.classes, true)?;
    check::optimizer(args.sgd)?;
    ensure!(args.budget > 0, "--budget 0: no program runs in no memory; give more");
    ensure!(
        args.measure.is_empty() || (args.measure.len() > 1 && args.measure.is_sorted_by(|one, next| one < next)),
        "--measure: a line needs two batches or more, each larger than the one before; give --measure 4,8, say"
    );
    for &batch in &args.measure {
        check::sizes(args.model, batch, asked.image_size, asked.classes, true)?;
    }
    let data = check::data_folder(asked.data.as_deref())?;
    let threads = check::threads(asked.threads)?;
    interrupt::listen_for_a_command()?;
    let folder = tempfile::tempdir().context("there is no place for the timelines of the measured runs")?;
    let work = WorkArgs { steps: STEPS, ..asked.clone() };
    let sgd = args.sgd;
    let job = Job { model: args.model, mode: Mode::Train, work: &work, batch: asked.batch, threads, data: &data, sgd };
    let trials = Trials { job, work: &work, folder: folder.path() };
    let shapes = bytes_an_image(&args.model.stages(asked.classes), asked.image_size)?;

    let Some((points, measured_by)) = measure(args, &trials, shapes)? else {
        return Ok(ExitCode::from(exit_code::INTERRUPTED));
    };
    let estimate = Estimate::through(&points, shapes).context("fewer than two batches were measured")?;
    let (largest_that_fits, smallest_that_does_not) = estimate.edge(args.budget);
    let verified = if args.verify || args.search { Some(verify(args, &trials, &estimate)?) } else { None };
    if interrupt::requested() {
        return Ok(ExitCode::from(exit_code::INTERRUPTED));
    }
    let wrong = verified.as_ref().is_some_and(|verified| verified.holds == Some(false));
    let answer = Answer {
        model: args.model.to_string(),
        image_size: asked.image_size,
        momentum: sgd.momentum,
        budget_bytes: args.budget,
        batch: asked.batch,
        verdict: estimate.verdict(asked.batch, args.budget),
        expected: estimate.at(asked.batch),
        largest_that_fits,
        smallest_that_does_not,
        estimate,
        shapes_bytes_an_image: shapes,
        measured_by,
        points,
        verified,
    };
    let text = if args.json { serde_json::to_string(&answer)? } else { answer.text() };
    console::print_result(&text)?;
    Ok(if wrong { ExitCode::from(exit_code::FAILED) } else { ExitCode::SUCCESS })
}

/// Measures the batches; `None` when the user ended it.
fn measure(args: &FitArgs, trials: &Trials<'_>, shapes: u64) -> Result<Option<(Vec<Point>, &'static str)>> {
    let mut points: Vec<Point> = Vec::new();
    let mut measured_by = "";
    let mut one = |batch: u64, points: &mut Vec<Point>| -> Result<bool> {
        if interrupt::requested() {
            return Ok(false);
        }
        console::print_error_line(&format!("measuring batch {batch}"));
        let measured = trials.measure(batch);
        if interrupt::requested() {
            return Ok(false);
        }
        let (point, by) = measured?;
        measured_by = by;
        points.push(point);
        Ok(true)
    };
    let first = if args.measure.is_empty() { &FIRST[..] } else { &args.measure };
    for &batch in first {
        if !one(batch, &mut points)? {
            return Ok(None);
        }
    }
    if args.measure.is_empty() {
        let edge = Estimate::through(&points, shapes).map_or(0, |estimate| estimate.edge(args.budget).1);
        for batch in PARTS.map(|part| edge.min(MOST) / part) {
            let larger = points.iter().all(|point| point.batch < batch);
            if larger && !one(batch, &mut points)? {
                return Ok(None);
            }
        }
    }
    Ok(Some((points, measured_by)))
}

/// Runs the largest batch that fits, which must pass, and the smallest that does not, which must be killed. With
/// `--search`, also as many between them as it takes until a batch passes and the next one is killed.
fn verify(args: &FitArgs, trials: &Trials<'_>, estimate: &Estimate) -> Result<Verified> {
    let (fits, fails) = estimate.edge(args.budget);
    let (mut done, mut skipped): (Vec<Trial>, Option<String>) = (Vec::new(), None);
    // Whether the batch passed; `None` when it could not be run.
    let mut run = |batch: u64| -> Option<bool> {
        if interrupt::requested() {
            return None;
        }
        console::print_error_line(&format!("running batch {batch} with the budget as its limit"));
        let work = &args.work;
        let trial = check::sizes(args.model, batch, work.image_size, work.classes, true)
            .and_then(|()| trials.limited(batch, args.budget));
        match trial {
            Ok(trial) => {
                let passed = trial.passed;
                done.push(trial);
                Some(passed)
            }
            Err(reason) => {
                skipped = Some(format!("{reason:#}"));
                None
            }
        }
    };
    let passed = if fits > 0 { run(fits) } else { None };
    let failed = run(fails).map(|passed| !passed);
    if args.search && passed.is_some() && failed == Some(true) {
        let (mut below, mut above) = if passed == Some(true) { (fits, fails) } else { (0, fits) };
        while above - below > 1 {
            let middle = below + (above - below) / 2;
            match run(middle) {
                Some(true) => below = middle,
                Some(false) => above = middle,
                None => break,
            }
        }
    }
    Ok(Verified::new(done, skipped, estimate, args.budget))
}
