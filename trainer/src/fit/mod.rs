//! `trainer fit`: whether a training run fits into a budget of memory, from a few measured batches and the network's plan.
//!
//! ```text
//! small batches, measured -> forecast -> about where the edge is -> larger batches, measured -> forecast -> answer
//!                                                              \-> runs at the edge with the budget as limit (--verify)
//! ```
//!
//! Each batch is measured twice: with the allocator as it is set, which usually keeps freed pages, and with all freed pages
//! given back at once. The second tells what a run needs at least, and needs hardly any margin.
mod estimate;

mod trial;

mod verified;

mod answer;

mod forecast;

mod case;

mod reason;

mod edge;
mod suite;

mod table;

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};

pub use self::table::fit_table;

use self::answer::{Answer, Part};
use self::case::Case;
use self::estimate::{Estimate, Live, Point};
use self::forecast::{Forecast, Sample};
use self::trial::{Measured, Pages, STEPS, Trial, Trials};
use self::verified::Verified;
use crate::child::Job;
use crate::cli::{FitArgs, WorkArgs};
use crate::device::DeviceName;
use crate::model::plan::bytes_an_image;
use crate::settings::Mode;
use crate::{check, console, exit_code, interrupt};

/// The batches that are measured first. One image alone has no batch statistics when the last maps are 1x1.
const FIRST: [u64; 2] = [2, 4];
/// The next ones are these parts, in eighths, of the largest batch that seems to fit by then, or of the largest that is measured
/// if that is less. The last one lies near the edge, because operators take another way, with more workspace, from some batch on.
const EIGHTHS: [u64; 3] = [2, 4, 7];
/// A batch of so many images is measured in any case, and one whose step takes no longer than this.
const MOST: u64 = 64;
const MOST_STEP_NS: u64 = 1_000_000_000;
/// When a batch that was to fit is killed, the next one that is tried is smaller by this part.
const DOWN: u64 = 16;

/// Answers the question of `args`. The exit code is 0 for an answer, whichever it is, and 2 when runs at the edge
/// contradict it.
pub fn fit(args: &FitArgs) -> Result<ExitCode> {
    let asked = &args.work;
    check::input(args.model, &asked.input)?;
    let (size, classes) = (asked.input.size(args.model), asked.input.classes(args.model));
    check::sizes(args.model, asked.batch, size, classes, true)?;
    check::optimizer(args.optimizer)?;
    let device = asked.device;
    ensure!(
        device == DeviceName::Cpu,
        "--device {device}: fit knows the memory of a process on a CPU; give --device cpu"
    );
    ensure!(args.budget > 0, "--budget 0: no program runs in no memory; give more");
    ensure!(
        args.measure.is_empty() || (args.measure.len() > 1 && args.measure.is_sorted_by(|one, next| one < next)),
        "--measure: a line needs two batches or more, each larger than the one before; give --measure 4,8, say"
    );
    for &batch in &args.measure {
        check::sizes(args.model, batch, size, classes, true)?;
    }
    let data = check::data_folder(args.model, asked.data.as_deref())?;
    let threads = check::threads(asked.threads)?;
    interrupt::listen_for_a_command()?;
    let folder = tempfile::tempdir().context("there is no place for the timelines of the measured runs")?;
    let work = WorkArgs { steps: STEPS, ..asked.clone() };
    let optimizer = args.optimizer;
    let (model, mode, batch) = (args.model, Mode::Train, asked.batch);
    let job = Job { model, mode, work: &work, batch, threads, data: &data, optimizer };
    let trials = Trials { job, work: &work, folder: folder.path() };
    let shapes = bytes_an_image(&model.stages(classes), model.input_of(size))?;

    let mut points = Points::of(Case { model, size, classes, optimizer });
    if !points.measure(args, &trials)? {
        return Ok(ExitCode::from(exit_code::INTERRUPTED));
    }
    let (sharp, estimate) = points.estimates()?;
    let estimate = estimate.context("no batch was measured")?;
    let Points { as_set, given_back, by, .. } = points;
    let part = |estimate, points, pages| -> Result<Part> {
        let part = Part::new(estimate, points, batch, args.budget)?;
        let wanted = args.verify || args.search;
        let verified = wanted.then(|| verify(args, &trials, pages, &part.estimate)).transpose()?;
        Ok(Part { verified, ..part })
    };
    // The sharp estimate is verified first: what it promises is exact.
    let pages_given_back = sharp.map(|sharp| part(sharp, given_back, Pages::GivenBack)).transpose()?;
    let as_set = part(estimate, as_set, Pages::AsSet)?;
    if interrupt::requested() {
        return Ok(ExitCode::from(exit_code::INTERRUPTED));
    }
    let (optimizer, momentum, optimizer_text) = Answer::of(optimizer);
    let answer = Answer {
        model: model.to_string(),
        input: model.input_text(size),
        image_size: (!model.reads_text()).then_some(size),
        length: model.reads_text().then_some(size),
        optimizer,
        momentum,
        optimizer_text,
        budget_bytes: args.budget,
        batch,
        shapes_bytes_an_image: shapes,
        measured_by: by,
        as_set,
        pages_given_back,
    };
    let text = if args.json { serde_json::to_string(&answer)? } else { answer.text() };
    console::print_result(&text)?;
    Ok(if answer.is_wrong() { ExitCode::from(exit_code::FAILED) } else { ExitCode::SUCCESS })
}

/// What was measured of a network.
struct Points {
    case: Case,
    as_set: Vec<Point>,
    /// Empty where the allocator cannot be told to give pages back.
    given_back: Vec<Point>,
    /// What the runs had at each place: of those that gave pages back, where there are such.
    samples: Vec<Sample>,
    /// What counted.
    by: &'static str,
}

impl Points {
    fn of(case: Case) -> Points {
        Points { case, as_set: Vec::new(), given_back: Vec::new(), samples: Vec::new(), by: "" }
    }

    /// Measures all batches. Returns whether it was done; the user may have ended it.
    fn measure(&mut self, args: &FitArgs, trials: &Trials<'_>) -> Result<bool> {
        let first = if args.measure.is_empty() { &FIRST[..] } else { &args.measure };
        for &batch in first {
            if !self.add(trials, batch)? {
                return Ok(false);
            }
        }
        if args.measure.is_empty() {
            for part in EIGHTHS {
                let (sharp, as_set) = self.estimates()?;
                let edge = sharp.or(as_set).map(|estimate| estimate.edge(args.budget)).transpose()?;
                let batch = edge.map_or(0, |(_, fails)| fails.min(self.most())) * part / 8;
                let larger = self.as_set.iter().all(|point| point.batch < batch);
                if larger && !self.add(trials, batch)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The largest batch that is worth its time.
    fn most(&self) -> u64 {
        let slowest = self.given_back.iter().chain(&self.as_set).max_by_key(|point| point.step_ns);
        let an_image = slowest.map_or(u64::MAX, |point| point.step_ns / point.batch);
        MOST.max(MOST_STEP_NS / an_image.max(1))
    }

    /// Measures `batch` in both ways. Returns whether it was done; the user may have ended it.
    fn add(&mut self, trials: &Trials<'_>, batch: u64) -> Result<bool> {
        for pages in [Pages::AsSet, Pages::GivenBack] {
            if interrupt::requested() {
                return Ok(false);
            }
            console::print_error_line(&format!("measuring batch {batch}{}", pages.text()));
            let measured = trials.measure(batch, pages);
            if interrupt::requested() {
                return Ok(false);
            }
            let Measured { point, timeline, by, can_give_back } = measured?;
            self.by = by;
            match pages {
                Pages::AsSet => self.as_set.push(point),
                Pages::GivenBack => self.given_back.push(point),
            }
            if pages == Pages::GivenBack || !can_give_back {
                let step = self.case.step(batch)?;
                self.samples.push(Sample::new(batch, step, point.unreclaimable_bytes, &timeline));
            }
            if !can_give_back {
                break;
            }
        }
        Ok(true)
    }

    /// What is expected of other batches with all pages given back, and with the allocator as it is set.
    fn estimates(&self) -> Result<(Option<Estimate>, Option<Estimate>)> {
        let Some(last) = self.given_back.last().or(self.as_set.last()) else { return Ok((None, None)) };
        let measured = (last.batch, last.live_bytes);
        let live = Live { case: self.case, forecast: Forecast::measured(&self.samples), measured };
        let sharp = Estimate::given_back(&self.given_back, &live)?;
        let as_set = Estimate::as_set(&self.as_set, sharp.as_ref(), &live)?;
        Ok((sharp, as_set))
    }
}

/// Runs the largest batch that fits, which must pass, and the smallest that does not, which must be killed. If the first
/// is killed, smaller ones are run until one passes. With `--search`, also as many between those that passed and those that
/// were killed as it takes until a batch passes and the next one is killed.
fn verify(args: &FitArgs, trials: &Trials<'_>, pages: Pages, estimate: &Estimate) -> Result<Verified> {
    let (fits, fails) = estimate.edge(args.budget)?;
    let (mut done, mut skipped): (Vec<Trial>, Option<String>) = (Vec::new(), None);
    // Whether the batch passed; `None` when it could not be run.
    let mut run = |batch: u64| -> Option<bool> {
        if interrupt::requested() || skipped.is_some() {
            return None;
        }
        console::print_error_line(&format!("running batch {batch}{} with the budget as its limit", pages.text()));
        let input = &args.work.input;
        let trial = check::sizes(args.model, batch, input.size(args.model), input.classes(args.model), true)
            .and_then(|()| trials.limited(batch, pages, args.budget));
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
    let (mut below, mut above) = (fits, fails);
    while below > 0 && run(below) == Some(false) {
        above = below;
        below -= (below / DOWN).max(1);
    }
    let killed = run(fails) == Some(false);
    while args.search && killed && above - below > 1 {
        let middle = below + (above - below) / 2;
        match run(middle) {
            Some(true) => below = middle,
            Some(false) => above = middle,
            None => break,
        }
    }
    Verified::new(done, skipped, estimate, args.budget)
}
