//! Several runs side by side, each in a process of its own: a heap, a resident set and a peak cannot be reset.
use std::fmt::Write as _;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use alloc_timeline::Timeline;
use anyhow::{Context, Result, bail, ensure};

use crate::check;
use crate::cli::CompareArgs;
use crate::model::ModelName;
use crate::settings::{Mode, timeline_name};
use crate::{console, exit_code, interrupt};

/// One line of the comparison.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    model: String,
    mode: String,
    /// Most live bytes.
    peak_bytes: u64,
    /// Most resident bytes; unknown where /proc cannot be read.
    rss_bytes: Option<u64>,
    /// Time of a typical step, in nanoseconds.
    step_ns: u64,
}

/// Runs every model in every mode, one after the other, and prints the table on stdout.
pub fn compare(args: &CompareArgs) -> Result<ExitCode> {
    let work = &args.work;
    ensure!(!args.models.is_empty() && !args.modes.is_empty(), "nothing to compare; give --models and --modes");
    check::amounts(work)?;
    check::optimizer(args.sgd)?;
    let threads = check::threads(work.threads)?;
    let data = check::data_folder(work.data.as_deref())?;
    for (model, mode) in runs(args) {
        check::sizes(model, work.batch, work.image_size, work.classes, mode == Mode::Train)?;
        check::memory(model, work, (mode == Mode::Train).then_some(args.sgd))?;
    }
    check::writable_folder(&args.out)?;

    interrupt::listen()?;
    let mut rows = Vec::new();
    for (model, mode) in runs(args) {
        if interrupt::requested() {
            return Ok(ExitCode::from(exit_code::INTERRUPTED));
        }
        // `cargo xtask demo` and `gate` find the beginning of each run by this line.
        console::print_error_line(&format!("{model} {mode}"));
        let out = args.out.join(timeline_name(model, mode));
        let code = run_in_process(args, model, mode, threads, &data, &out)?;
        if code == i32::from(exit_code::INTERRUPTED) {
            return Ok(ExitCode::from(exit_code::INTERRUPTED));
        }
        ensure!(code == 0, "{model} {mode} ended with exit code {code}; its message stands above");
        rows.push(row(model, mode, &alloc_timeline::load(&out)?));
    }
    let (batch, side) = (work.batch, work.image_size);
    console::print_result(&format!(
        "batch {batch}, images of 3x{side}x{side}, {threads} thread(s)\n{}",
        table(&rows).trim_end()
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// The runs to compare, in their order: every model in every mode.
fn runs(args: &CompareArgs) -> impl Iterator<Item = (ModelName, Mode)> {
    args.models.iter().flat_map(|&model| args.modes.iter().map(move |&mode| (model, mode)))
}

/// Does one run in a process of its own; its lines go to stderr. Returns its exit code.
fn run_in_process(
    args: &CompareArgs,
    model: ModelName,
    mode: Mode,
    threads: u64,
    data: &Path,
    out: &Path,
) -> Result<i32> {
    let work = &args.work;
    let program = std::env::current_exe().context("cannot find this program's own file to start it again")?;
    let mut command = Command::new(&program);
    command.arg(mode.as_str()).args(["--model", model.as_str()]);
    let numbers = [
        ("--batch", work.batch),
        ("--steps", work.steps),
        ("--image-size", work.image_size),
        ("--threads", threads),
        ("--seed", work.seed),
        ("--classes", work.classes),
    ];
    for (flag, number) in numbers {
        command.arg(flag).arg(number.to_string());
    }
    command.arg("--data").arg(data).arg("--out").arg(out);
    if mode == Mode::Train {
        command.arg("--lr").arg(args.sgd.lr.to_string()).arg("--momentum").arg(args.sgd.momentum.to_string());
    }
    // Its lines must not mix with the table on stdout. Its process group is its own, so that Ctrl-C reaches it once,
    // through this process.
    command.stdin(Stdio::null()).stdout(std::io::stderr()).process_group(0);
    let mut child = command.spawn().with_context(|| format!("{}: cannot be started", program.display()))?;
    interrupt::set_child(child.id() as i32);
    let status = child.wait();
    interrupt::set_child(0);
    match status.context("a run was lost")?.code() {
        Some(code) => Ok(code),
        None => bail!("{model} {mode} was killed, perhaps for lack of memory; give a smaller --batch or --image-size"),
    }
}

/// The row of the table for one timeline.
fn row(model: ModelName, mode: Mode, timeline: &Timeline) -> Row {
    let rss = timeline.lanes.iter().find(|lane| lane.name == "rss");
    let steps: Vec<u64> = timeline.steps.iter().map(|step| step.end_ns.saturating_sub(step.start_ns)).collect();
    Row {
        model: model.to_string(),
        mode: mode.to_string(),
        peak_bytes: timeline.peak.live_bytes,
        rss_bytes: rss.and_then(|lane| lane.peak_bytes),
        step_ns: typical_step(&steps),
    }
}

/// The median of the steps without the first, which warms up (of two in the middle the longer); a lone step itself.
fn typical_step(steps: &[u64]) -> u64 {
    let mut steps = if steps.len() > 1 { steps[1..].to_vec() } else { steps.to_vec() };
    steps.sort_unstable();
    steps.get(steps.len() / 2).copied().unwrap_or(0)
}

/// The rows as aligned text; MB are 10^6 bytes.
fn table(rows: &[Row]) -> String {
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let mut text = format!("{:<14} {:<6} {:>12} {:>12} {:>10}\n", "model", "mode", "peak live", "peak RSS", "a step");
    for row in rows {
        let rss = row.rss_bytes.map_or_else(|| "unknown".to_owned(), megabytes);
        let step = format!("{:.3} s", row.step_ns as f64 / 1e9);
        let (model, mode, peak) = (&row.model, &row.mode, megabytes(row.peak_bytes));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{model:<14} {mode:<6} {peak:>12} {rss:>12} {step:>10}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_warms_up() {
        assert_eq!(typical_step(&[900, 30, 10, 20]), 20, "the median of 10, 20, 30");
        assert_eq!(typical_step(&[900]), 900);
        assert_eq!(typical_step(&[]), 0);
    }

    #[test]
    fn columns_line_up() {
        let model = "mobilenet_v1".to_owned();
        let known = Row {
            model: model.clone(),
            mode: "train".to_owned(),
            peak_bytes: 1_368_000_000,
            rss_bytes: Some(1_400_500_000),
            step_ns: 1_234_567_890,
        };
        let unknown = Row { model, mode: "infer".to_owned(), peak_bytes: 5, rss_bytes: None, step_ns: 1_000_000 };
        let expected = "\
model          mode      peak live     peak RSS     a step
mobilenet_v1   train     1368.0 MB    1400.5 MB    1.235 s
mobilenet_v1   infer        0.0 MB      unknown    0.001 s
";
        assert_eq!(table(&[known, unknown]), expected);
    }
}
