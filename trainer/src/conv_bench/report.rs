//! conv.csv, the pictures and the table for the terminal.
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use trainer_statistics::{Interval, Summary, median_interval};

use super::case::{Case, Run};
use crate::chart::{self, Dot, Line, Scale, Titles};
use crate::figures::{self, mib, milliseconds};
use crate::settings::Mode;

/// All runs of one case.
struct Measured<'a> {
    case: &'a Case,
    step_ns: Summary,
    interval: Interval,
    runs: Vec<&'a Run>,
}

impl Measured<'_> {
    /// The peak of live bytes, in the run in the middle.
    fn peak_live_bytes(&self) -> u64 {
        figures::median(&self.runs.iter().map(|run| run.peak_live_bytes).collect::<Vec<_>>())
    }

    /// The workspace in that peak, in the run in the middle.
    fn peak_workspace_bytes(&self) -> u64 {
        figures::median(&self.runs.iter().map(|run| run.peak_workspace_bytes).collect::<Vec<_>>())
    }
}

/// Writes all of it into `folder`. Returns the table.
pub(super) fn write(folder: &Path, cases: &[Case], runs: &[Run], seed: u64) -> Result<String> {
    let measured: Vec<Measured<'_>> = cases.iter().filter_map(|case| of_case(case, runs, seed)).collect();
    let mut files = vec![("conv.csv".to_owned(), csv(runs)?)];
    for mode in [Mode::Infer, Mode::Train] {
        let of: Vec<&Measured<'_>> = measured.iter().filter(|of| of.case.mode == mode).collect();
        if let Some(first) = of.first() {
            files.extend(pictures(first.case, &of)?);
        }
    }
    for (name, content) in &files {
        let path = folder.join(name);
        std::fs::write(&path, content).with_context(|| format!("{}: cannot be written", path.display()))?;
    }
    let mut text = table(&measured);
    text.extend([Mode::Infer, Mode::Train].into_iter().filter_map(|mode| five_and_three(&measured, mode)));
    Ok(format!("{text}\nwrote {} files into {}", files.len(), folder.display()))
}

/// What `--json` prints: every run, in bytes and nanoseconds. The field names never change.
pub(super) fn json(runs: &[Run], seed: u64) -> Value {
    let run = |run: &Run| {
        let Case { mode, batch, kernel, channels, image_size, threads } = &run.case;
        json!({
            "mode": mode.as_str(), "batch": batch, "kernel": kernel, "channels": channels, "image_size": image_size,
            "threads": threads, "repeat": run.repeat, "step_ns": run.step_ns,
            "forward_operations": run.case.forward_operations(), "peak_live_bytes": run.peak_live_bytes,
            "peak_workspace_bytes": run.peak_workspace_bytes, "peak_rss_bytes": run.peak_rss_bytes,
        })
    };
    json!({ "seed": seed, "runs": runs.iter().map(run).collect::<Vec<_>>() })
}

fn of_case<'a>(case: &'a Case, runs: &'a [Run], seed: u64) -> Option<Measured<'a>> {
    let runs: Vec<&Run> = runs.iter().filter(|run| run.case == *case).collect();
    let steps: Vec<Vec<f64>> = runs.iter().map(|run| run.steady_ns().iter().map(|&ns| ns as f64).collect()).collect();
    Some(Measured { case, step_ns: Summary::of(&steps.concat())?, interval: median_interval(&steps, seed)?, runs })
}

/// A row for each run. Bytes and nanoseconds.
fn csv(runs: &[Run]) -> Result<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record([
        "mode",
        "batch",
        "kernel",
        "channels",
        "image_size",
        "threads",
        "repeat",
        "steady_steps",
        "first_step_ns",
        "step_ns_min",
        "step_ns_q1",
        "step_ns_median",
        "step_ns_q3",
        "step_ns_p90",
        "step_ns_max",
        "step_ns_mean",
        "step_ns_sd",
        "forward_operations",
        "peak_live_bytes",
        "peak_workspace_bytes",
        "peak_rss_bytes",
    ])?;
    for run in runs {
        let steady: Vec<f64> = run.steady_ns().iter().map(|&ns| ns as f64).collect();
        let Some(Summary { count, min, q1, median, q3, p90, max, mean, sd }) = Summary::of(&steady) else { continue };
        let Case { mode, batch, kernel, channels, image_size, threads } = &run.case;
        let numbers = [*batch, *kernel, *channels, *image_size, *threads, run.repeat, count as u64, run.step_ns[0]];
        let times = [min, q1, median, q3, p90, max, mean].map(|number| number.to_string());
        let rest = [
            sd.map_or(String::new(), |sd| sd.to_string()),
            run.case.forward_operations().to_string(),
            run.peak_live_bytes.to_string(),
            run.peak_workspace_bytes.to_string(),
            run.peak_rss_bytes.map_or(String::new(), |bytes| bytes.to_string()),
        ];
        let numbers = numbers.map(|number| number.to_string());
        writer.write_record([mode.to_string()].into_iter().chain(numbers).chain(times).chain(rest))?;
    }
    writer.into_inner().context("a table of text can always be written to memory")
}

/// Time and memory of one mode against the kernel.
fn pictures(case: &Case, of: &[&Measured<'_>]) -> Result<Vec<(String, Vec<u8>)>> {
    let Case { mode, batch, channels, image_size, threads, .. } = case;
    let what = format!(
        "{channels}->{channels} channels, {image_size}x{image_size}, batch {batch}, {mode}, {threads} thread(s)"
    );
    let steps: Vec<String> = of.iter().map(|of| format!("{0}x{0}", of.case.kernel)).collect();
    let titles = |title: &str, left: &str| Titles {
        title: format!("{title}: {what}"),
        below: "kernel".to_owned(),
        left: left.to_owned(),
    };
    let ms = |ns: f64| ns / 1e6;
    let time = of
        .iter()
        .map(|of| Some(Dot { value: ms(of.step_ns.median), low: ms(of.interval.low), high: ms(of.interval.high) }));
    let bytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let dot = |value: f64| Some(Dot { value, low: value, high: value });
    let memory = |name: &str, values: Vec<u64>| Line {
        name: name.to_owned(),
        dots: values.into_iter().map(|value| dot(bytes(value))).collect(),
    };
    let time = Line { name: "a step (median)".to_owned(), dots: time.collect() };
    let memory = [
        memory("peak live bytes", of.iter().map(|of| of.peak_live_bytes()).collect()),
        memory("workspace in it", of.iter().map(|of| of.peak_workspace_bytes()).collect()),
    ];
    Ok(vec![
        (
            format!("conv-time-{mode}.svg"),
            chart::lines(&titles("Time of a convolution", "ms"), Scale::Linear, &steps, &[time])?.into(),
        ),
        (
            format!("conv-memory-{mode}.svg"),
            chart::lines(&titles("Memory of a convolution", "MiB"), Scale::Linear, &steps, &memory)?.into(),
        ),
    ])
}

fn table(measured: &[Measured<'_>]) -> String {
    let rows = measured.iter().map(|of| {
        // One operation a nanosecond is 10^9 a second.
        let speed = of.case.forward_operations() as f64 / of.step_ns.median;
        vec![
            of.case.mode.to_string(),
            of.case.batch.to_string(),
            format!("{0}x{0}", of.case.kernel),
            of.runs.len().to_string(),
            milliseconds(of.step_ns.median as u64),
            format!("{} .. {}", milliseconds(of.interval.low as u64), milliseconds(of.interval.high as u64)),
            if of.case.mode == Mode::Infer { format!("{speed:.1}") } else { String::new() },
            mib(of.peak_live_bytes()),
        ]
    });
    let heads = ["mode", ">batch", ">kernel", ">runs", ">a step", ">95 % interval", ">10^9 operations/s", ">peak live"];
    figures::table(&heads, rows)
}

/// What seed 000 found on a Jetson: 5x5 followed by 3x3, which together see as much as 7x7, take less time than 7x7.
fn five_and_three(measured: &[Measured<'_>], mode: Mode) -> Option<String> {
    let of = |kernel: u64| measured.iter().find(|of| of.case.mode == mode && of.case.kernel == kernel);
    let (three, five, seven) = (of(3)?, of(5)?, of(7)?);
    let both = Interval { low: three.interval.low + five.interval.low, high: three.interval.high + five.interval.high };
    let known = both.is_apart_from(seven.interval) && seven.runs.len() >= 3;
    Some(format!(
        "\n{mode}: 5x5 and 3x3 take {}, 7x7 takes {}: {}",
        milliseconds((three.step_ns.median + five.step_ns.median) as u64),
        milliseconds(seven.step_ns.median as u64),
        match (known, both.high < seven.interval.low) {
            (false, _) => "which takes longer is not known",
            (true, true) => "the two together are faster",
            (true, false) => "the one alone is faster",
        }
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(kernel: u64, repeat: u64, step_ns: &[u64]) -> Run {
        let case = Case { mode: Mode::Infer, batch: 4, kernel, channels: 32, image_size: 64, threads: 1 };
        Run {
            case,
            repeat,
            step_ns: step_ns.to_vec(),
            peak_live_bytes: 3 << 20,
            peak_workspace_bytes: 0,
            peak_rss_bytes: None,
        }
    }

    /// 3x3 takes 10 ns, 5x5 20 ns, 7x7 40 ns in each of three runs; the first step does not count.
    #[test]
    fn files_and_what_they_say() {
        let all = [(3, 10), (5, 20), (7, 40)];
        let runs: Vec<Run> = all
            .iter()
            .flat_map(|&(kernel, ns)| (1..=3).map(move |repeat| run(kernel, repeat, &[900, ns, ns])))
            .collect();
        let cases: Vec<Case> = runs.iter().step_by(3).map(|run| run.case.clone()).collect();
        let folder = tempfile::tempdir().expect("a folder");
        write(folder.path(), &cases, &runs, 1).expect("written");
        let text = std::fs::read_to_string(folder.path().join("conv.csv")).expect("the file");
        assert_eq!(text.lines().count(), 10);
        assert!(
            text.lines().nth(1).is_some_and(|line| line.starts_with("infer,4,3,32,64,1,1,2,900,10,10,10,10")),
            "{text}"
        );
        assert!(std::fs::read_to_string(folder.path().join("conv-time-infer.svg")).expect("drawn").contains("7x7"));
        assert!(!folder.path().join("conv-time-train.svg").exists(), "nothing was trained");
        let measured: Vec<Measured<'_>> = cases.iter().filter_map(|case| of_case(case, &runs, 1)).collect();
        let said = five_and_three(&measured, Mode::Infer).expect("all three ran");
        assert!(said.ends_with("the two together are faster"), "{said}");
    }
}
