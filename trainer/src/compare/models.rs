//! Models and modes side by side.
use std::fmt::Write as _;
use std::process::{Command, ExitCode};

use alloc_timeline::Timeline;
use anyhow::{Context, Result, bail};

use super::request::Request;
use crate::child::{self, Job};
use crate::cli::CompareArgs;
use crate::figures::typical_step;
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
    /// The most bytes that blocks of a device had; `None` where none was used.
    device_bytes: Option<u64>,
    /// Time of a typical step, in nanoseconds.
    step_ns: u64,
}

/// Runs every model in every mode, one after the other, and prints the table on stdout.
pub(super) fn compare(args: &CompareArgs, request: &Request) -> Result<ExitCode> {
    let program = std::env::current_exe().context("cannot find this program's own file to start it again")?;
    let mut rows = Vec::new();
    for &job in &request.jobs {
        let Job { model, mode, .. } = job;
        if interrupt::requested() {
            return Ok(ExitCode::from(exit_code::INTERRUPTED));
        }
        // `cargo xtask demo` and `gate` find the beginning of each run by this line.
        console::print_error_line(&format!("{model} {mode}"));
        let out = args.out.join(timeline_name(model, mode));
        let mut command = Command::new(&program);
        // Its lines must not mix with the table on stdout, and it must leave a timeline.
        command.args(job.arguments()).arg("--out").arg(&out).stdout(std::io::stderr()).env_remove("ALLOC_TRACKER");
        match child::wait(&mut command)?.code() {
            Some(0) => rows.push(row(model, mode, &alloc_timeline::load(&out)?)),
            Some(code) if code == i32::from(exit_code::INTERRUPTED) => {
                return Ok(ExitCode::from(exit_code::INTERRUPTED));
            }
            Some(code) => bail!("{model} {mode} ended with exit code {code}; its message stands above"),
            None => {
                bail!("{model} {mode} was killed, perhaps for lack of memory; give a smaller --batch or --image-size")
            }
        }
    }
    console::print_result(&format!("{}\n{}", request.conditions, table(&rows).trim_end()))?;
    Ok(ExitCode::SUCCESS)
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
        device_bytes: timeline.devices.iter().filter_map(|device| Some(device.peak.as_ref()?.live_bytes)).max(),
        step_ns: typical_step(&steps),
    }
}

/// The rows as aligned text; MB are 10^6 bytes.
fn table(rows: &[Row]) -> String {
    let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    // Only runs on a device have a column of it.
    let on_device = rows.iter().any(|row| row.device_bytes.is_some());
    let device = |text: String| if on_device { format!(" {text:>12}") } else { String::new() };
    let heading = device("peak device".to_owned());
    let mut text =
        format!("{:<14} {:<6} {:>12} {:>12}{heading} {:>10}\n", "model", "mode", "peak live", "peak RSS", "a step");
    for row in rows {
        let known = |bytes: Option<u64>| bytes.map_or_else(|| "unknown".to_owned(), megabytes);
        let (rss, of_device) = (known(row.rss_bytes), device(known(row.device_bytes)));
        let step = format!("{:.3} s", row.step_ns as f64 / 1e9);
        let (model, mode, peak) = (&row.model, &row.mode, megabytes(row.peak_bytes));
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{model:<14} {mode:<6} {peak:>12} {rss:>12}{of_device} {step:>10}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let model = "mobilenet_v1".to_owned();
        let known = Row {
            model: model.clone(),
            mode: "train".to_owned(),
            peak_bytes: 1_368_000_000,
            rss_bytes: Some(1_400_500_000),
            device_bytes: None,
            step_ns: 1_234_567_890,
        };
        let unknown = Row {
            model,
            mode: "infer".to_owned(),
            peak_bytes: 5,
            rss_bytes: None,
            device_bytes: None,
            step_ns: 1_000_000,
        };
        let expected = "\
model          mode      peak live     peak RSS     a step
mobilenet_v1   train     1368.0 MB    1400.5 MB    1.235 s
mobilenet_v1   infer        0.0 MB      unknown    0.001 s
";
        assert_eq!(table(&[known.clone(), unknown.clone()]), expected);
        let on_device = "\
model          mode      peak live     peak RSS  peak device     a step
mobilenet_v1   train     1368.0 MB    1400.5 MB     918.3 MB    1.235 s
mobilenet_v1   infer        0.0 MB      unknown      unknown    0.001 s
";
        assert_eq!(table(&[Row { device_bytes: Some(918_347_776), ..known }, unknown]), on_device);
    }
}
