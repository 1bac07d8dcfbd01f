//! `trainer tables`: the memory of training steps by model, batch and image size: by the formula of the seed document 002, by
//! the plan, and as measured, size by size; and each category over the batch with the straight line through it.
//!
//! ```text
//! stages -> published, every map twice, plan -> rows -> table
//!           runs, a process each, where asked for -/ \-> categories over the batch -> lines
//! ```
mod published;

mod line;

mod point;

mod text;

use std::process::ExitCode;

use anyhow::{Context, Result, ensure};

use self::point::{Measured, Point, Row};
use crate::child::Job;
use crate::cli::{InputArgs, Models, TablesArgs, WorkArgs};
use crate::device::DeviceName;
use crate::precision::Precision;
use crate::settings::Mode;
use crate::{check, console, exit_code, interrupt};

/// The optimizer's state is there in the second step.
const STEPS: u64 = 2;

/// Prints the tables that `args` asks for. Sizes that a model cannot take are told and left out.
///
/// # Errors
/// When nothing that was asked for can be planned, or a measured run fails.
pub fn tables(args: &TablesArgs) -> Result<ExitCode> {
    let work = &args.work;
    check::optimizer(args.optimizer)?;
    ensure!(work.device == DeviceName::Cpu, "--device {}: the tables are of a CPU; give --device cpu", work.device);
    let one_or = |list: &[u64], one: u64| if list.is_empty() { vec![one] } else { list.to_vec() };
    let batches = one_or(&args.batches, work.batch);
    let mut rows = Vec::new();
    for model in Models::listed(&args.models) {
        let classes = work.input.classes(model);
        // Sizes are of images; texts have one length.
        let sizes = if model.reads_text() { &[][..] } else { &args.image_sizes };
        for size in one_or(sizes, work.input.size(model)) {
            for &batch in &batches {
                match check::sizes(model, batch, size, classes, true) {
                    Ok(()) => rows.push(Row::planned(Point { model, batch, size, classes }, args.optimizer)?),
                    Err(reason) => console::print_error_line(&format!("left out: {model}: {reason}")),
                }
            }
        }
    }
    ensure!(!rows.is_empty(), "nothing that was asked for can be planned; the reasons stand above");
    if args.measure && !measure(args, &mut rows)? {
        return Ok(ExitCode::from(exit_code::INTERRUPTED));
    }
    let text = if args.json { text::json(&rows, args.optimizer)? } else { text::text(&rows, args.optimizer) };
    console::print_result(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Runs every row in a process of its own, one after the other. Returns whether all are done: the user may have ended it.
fn measure(args: &TablesArgs, rows: &mut [Row]) -> Result<bool> {
    let threads = check::threads(args.work.threads)?;
    interrupt::listen_for_a_command()?;
    let folder = tempfile::tempdir().context("there is no place for the timelines of the measured runs")?;
    let count = rows.len();
    for (index, row) in rows.iter_mut().enumerate() {
        let Point { model, batch, size, classes } = row.point;
        let data = check::data_folder(model, args.work.data.as_deref())?;
        let work = WorkArgs { batch, steps: STEPS, input: InputArgs::of(model, size, classes), ..args.work.clone() };
        let what = model.input_text(size);
        console::print_error_line(&format!("measuring {}/{count}: {model}, batch {batch}, {what}", index + 1));
        if let Err(reason) = check::memory(model, &work, Some(args.optimizer), Precision::Fp32) {
            console::print_error_line(&format!("not measured: {reason}"));
            continue;
        }
        let optimizer = args.optimizer;
        let job = Job { model, mode: Mode::Train, work: &work, batch, threads, data: &data, optimizer };
        match Measured::run(&job, &folder.path().join("run.timeline.json")) {
            _ if interrupt::requested() => return Ok(false),
            measured => row.measured = Some(measured?),
        }
    }
    Ok(true)
}
