//! `trainer conv-bench`: one convolution, kernel by kernel, in inference and in training: what it costs in time and in memory
//! (seed 000, figure 7).
//!
//! ```text
//! flags -> kernels x modes -> rounds of runs, a process each -> conv.csv, pictures, table
//! ```
mod case;
mod convolution;

mod report;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use alloc_timeline::Dimension;
use anyhow::{Context, Result, bail, ensure};

use self::case::{Case, Run};
use crate::child::{self, Ended, Times};
use crate::cli::{ConvBenchArgs, ConvRunArgs, Count};
use crate::figures::{median, mib, milliseconds};
use crate::rounds::{self, Pace, Progress};
use crate::settings::Mode;
use crate::{check, console, exit_code, interrupt};

/// Measures what `args` ask for, and writes the table and the pictures.
pub fn conv_bench(args: &ConvBenchArgs) -> Result<ExitCode> {
    let threads = args.threads.map_or(check::threads(None)?, |Count(threads)| threads);
    for &Count(kernel) in &args.kernels {
        ensure!(
            kernel % 2 == 1,
            "--kernels {kernel}: with an even kernel the image does not keep its size; give odd ones"
        );
    }
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("{}: this output folder cannot be made; change --out", args.out.display()))?;
    check::writable_folder(&args.out)?;
    let cases = cases(args, threads);
    interrupt::listen()?;
    let folder = tempfile::tempdir().context("there is no place for the timelines of the runs")?;
    let order = rounds::order(cases.len(), args.repeat.0, args.seed);
    let (mut runs, mut pace) = (Vec::new(), Pace::default());
    let mut progress = Progress::new(order.len(), 0);
    for (place, &(index, repeat)) in order.iter().enumerate() {
        let began = Instant::now();
        let Some(run) = measure(&cases[index], repeat, args, &folder.path().join("run.timeline.json"))? else {
            return Ok(ExitCode::from(exit_code::INTERRUPTED));
        };
        pace.add(index, began.elapsed());
        let left: Option<Duration> = pace.left(order[place + 1..].iter().map(|&(index, _)| index));
        let step = milliseconds(median(run.steady_ns()));
        progress.ended(&format!("{}: {step}, peak live {}", run.case, mib(run.peak_live_bytes)), left);
        runs.push(run);
    }
    drop(progress);
    let table = report::write(&args.out, &cases, &runs, args.seed)?;
    console::print_result(&if args.json { report::json(&runs, args.seed).to_string() } else { table })?;
    Ok(ExitCode::SUCCESS)
}

/// Every kernel in both modes.
fn cases(args: &ConvBenchArgs, threads: u64) -> Vec<Case> {
    let of = |mode: Mode, batch: u64| {
        let (channels, image_size) = (args.channels.0, args.image_size.0);
        args.kernels.iter().map(move |&Count(kernel)| Case { mode, batch, kernel, channels, image_size, threads })
    };
    of(Mode::Infer, args.infer_batch.0).chain(of(Mode::Train, args.train_batch.0)).collect()
}

/// One run in a process of its own; `None` when the user ended it.
fn measure(case: &Case, repeat: u64, args: &ConvBenchArgs, timeline: &Path) -> Result<Option<Run>> {
    let program = std::env::current_exe().context("cannot find this program's own file to start it again")?;
    let mut command = Command::new(program);
    command.arg("conv-run").args(["--mode", case.mode.as_str()]).arg("--out").arg(timeline);
    let numbers = [
        ("--kernel", case.kernel),
        ("--batch", case.batch),
        ("--channels", case.channels),
        ("--image-size", case.image_size),
        ("--threads", case.threads),
        ("--steps", args.steps.0),
        ("--seed", args.seed),
    ];
    for (flag, number) in numbers {
        command.arg(flag).arg(number.to_string());
    }
    let stdout = match child::ended(&mut command)? {
        Ended::Done(stdout) => stdout,
        Ended::Interrupted => return Ok(None),
        Ended::Failed { status, said } => bail!("{case}: the run ended with {status}: {}", said.trim()),
    };
    let Times { step_ns, peak_rss_bytes } =
        serde_json::from_str(&stdout).context("a run printed something else than its times")?;
    let timeline = alloc_timeline::load(timeline)?;
    let workspace = timeline.peak.by(&timeline.scopes, Dimension::Category).get("workspace").copied();
    Ok(Some(Run {
        case: case.clone(),
        repeat,
        step_ns,
        peak_live_bytes: timeline.peak.live_bytes,
        peak_workspace_bytes: workspace.unwrap_or(0),
        peak_rss_bytes,
    }))
}

/// One run: what `conv-bench` starts.
pub fn conv_run(args: &ConvRunArgs) -> Result<ExitCode> {
    interrupt::listen()?;
    let times = convolution::run(args)?;
    console::print_result(&times.to_string())?;
    Ok(ExitCode::SUCCESS)
}
