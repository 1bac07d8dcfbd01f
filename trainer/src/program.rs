//! The whole program: reads the command line, does what it says, reports errors on stderr.
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use clap::Parser;

use crate::checkpoint::{Case, alternatives};
use crate::cli::{Cli, PlanArgs, Switch, Task};
use crate::device::DeviceName;
use crate::model::list::models;
use crate::model::report::{beside, report};
use crate::model::rules::rules;
use crate::model::variation::{Varied, variation};
use crate::precision::Precision;
use crate::settings::Mode;
use crate::{
    advise, check, compare, console, conv_bench, exit_code, fit, limited, model_flags, reproduce, run, sweep, tables,
};

/// Read by the allocator at its first allocation; `off` switches tracking off for the process.
const TRACKER_VARIABLE: &str = "ALLOC_TRACKER";

/// The whole program: reads the command line, does what it says, and reports an error with its causes on stderr.
pub fn main() -> ExitCode {
    match dispatch(Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            console::print_error_line(&format!("error: {error:#}"));
            ExitCode::from(exit_code::FAILED)
        }
    }
}

fn dispatch(cli: Cli) -> Result<ExitCode> {
    match cli.task {
        Task::Train(args) => {
            let tracked = is_tracked(args.run.track)?;
            let (optimizer, variation) = (args.optimizer.of(args.run.model), &args.variation);
            let settings = check::settings(&args.run, Mode::Train, Some(optimizer), Some(variation), tracked)?;
            let settings = model_flags::with_checkpoints(settings, args.checkpoint.as_ref().or(args.budget.as_ref()))?;
            run::run(&check::with_variation(settings, variation)?)
        }
        Task::Infer(args) => {
            let tracked = is_tracked(args.track)?;
            run::run(&check::settings(&args, Mode::Infer, None, None, tracked)?)
        }
        Task::Compare(args) => compare::compare(&args),
        Task::Models(args) => {
            console::print_result(&models(args.json)?)?;
            Ok(ExitCode::SUCCESS)
        }
        Task::Plan(args) => plan(&args),
        Task::RunLimited(args) => limited::run_limited(&args),
        Task::Fit(args) => fit::fit(&args),
        Task::FitTable(args) => fit::fit_table(&args),
        Task::Advise(args) => advise::advise(&args),
        Task::Tables(args) => tables::tables(&args),
        Task::Sweep(args) => sweep::sweep(&args),
        Task::ConvBench(args) => conv_bench::conv_bench(&args),
        Task::Reproduce(args) => reproduce::reproduce(&args),
        Task::ConvRun(args) => conv_bench::conv_run(&args),
    }
}

/// Prints what the shapes say of a training step.
fn plan(args: &PlanArgs) -> Result<ExitCode> {
    let &PlanArgs { model, batch, ref input, optimizer, precision, ref measured, ref checkpoint, threads, .. } = args;
    let &PlanArgs { rules: by_rule, train_only, seed, step, json, .. } = args;
    ensure!(
        precision == Precision::Fp32,
        "--precision {precision}: the rules of a plan are those of fp32; measure a step with trainer train --precision \
         {precision} --steps 2, or leave --precision out"
    );
    check::input(model, input)?;
    let (size, classes) = (input.size(model), input.classes(model));
    check::sizes(model, batch, size, classes, true)?;
    let optimizer = optimizer.of(model);
    check::optimizer(optimizer)?;
    if let Some(only) = train_only {
        check::part(model, classes, only)?;
        let varied = Varied { model, batch, size, classes, optimizer, only, seed, step };
        console::print_result(&variation(&varied, json)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let text = match (measured, checkpoint) {
        (None, Some(asked)) => {
            model_flags::is_chain(model, asked)?;
            tch::set_num_threads(check::threads(threads)? as i32);
            let case = Case { model, batch, size, classes, device: DeviceName::Cpu, optimizer, in_place: true };
            alternatives(asked, &case, json)?
        }
        (None, None) if by_rule => rules(model, batch, size, classes, json)?,
        (None, None) => report(model, batch, size, classes, optimizer, json)?,
        (Some(timeline), _) => beside(model, batch, size, classes, optimizer, timeline, json)?,
    };
    console::print_result(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Whether this process is tracked. The allocator decides at its first allocation, before `main`, so `--track off`
/// starts the same binary once more in this process with the variable set; that call does not return.
fn is_tracked(wanted: Switch) -> Result<bool> {
    let off = std::env::var_os(TRACKER_VARIABLE).is_some_and(|value| value == "off");
    match wanted {
        _ if off => Ok(false),
        Switch::On => Ok(true),
        Switch::Off => {
            let program =
                std::env::current_exe().context("cannot find this program's own file to start it untracked")?;
            let error = Command::new(&program).args(std::env::args_os().skip(1)).env(TRACKER_VARIABLE, "off").exec();
            Err(error).with_context(|| {
                format!("{}: cannot be started untracked; set {TRACKER_VARIABLE}=off yourself", program.display())
            })
        }
    }
}
