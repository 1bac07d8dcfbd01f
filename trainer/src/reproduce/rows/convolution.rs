//! Row 4: one convolution, kernel by kernel.
use anyhow::{Context, Result};
use serde_json::Value;

use super::shared::{claim, line, lines, mib, ms, table, titles};
use crate::chart::{Dot, Line, Scale};
use crate::reproduce::results::{Depth, Results, number, text};
use crate::reproduce::spec::{FOLDER, Finding, Holds, Measurement, Row, Work};

pub(super) const ROW: Row = Row {
    number: 4,
    title: "One convolution: kernels of 1 to 11",
    seed: "000, Figure 7",
    published: "32 channels in and out, 256 x 256 pixels, batch 4 in inference and 32 in training: the time rises faster with the \
                kernel beyond 5 x 5, and on a Jetson 5 x 5 and 3 x 3 together take less time than one 7 x 7.",
    work: Some(Work { measurements, finding }),
};

fn measurements(depth: Depth) -> Vec<Measurement> {
    let how = if depth == Depth::Quick { "--quick" } else { "--repeat 5" };
    let command = format!("trainer conv-bench {how} --out {FOLDER}/conv");
    let columns = &[
        "mode",
        "batch",
        "kernel",
        "image_size",
        "threads",
        "repeat",
        "step_ns_median",
        "peak_live_bytes",
        "peak_workspace_bytes",
    ];
    vec![Measurement::table("conv", command, "conv/conv.csv", columns)]
}

/// One kernel in one mode: medians over the runs, and the least and the most of them.
struct Kernel {
    kernel: u64,
    median: f64,
    least: f64,
    most: f64,
    peak_bytes: f64,
}

/// The kernels of a mode, the smallest first.
fn kernels(rows: &[Value], mode: &str) -> Result<Vec<Kernel>> {
    let of_mode: Vec<&Value> = rows.iter().filter(|row| row["mode"] == mode).collect();
    let mut sizes = of_mode.iter().map(|row| Ok(number(row, "/kernel")? as u64)).collect::<Result<Vec<u64>>>()?;
    sizes.sort_unstable();
    sizes.dedup();
    let of = |kernel: u64| -> Result<Kernel> {
        let runs = || of_mode.iter().filter(|row| row["kernel"] == kernel);
        let times = runs().map(|row| number(row, "/step_ns_median")).collect::<Result<Vec<f64>>>()?;
        let peaks = runs().map(|row| number(row, "/peak_live_bytes")).collect::<Result<Vec<f64>>>()?;
        Ok(Kernel {
            kernel,
            median: trainer_statistics::median(&times),
            least: times.iter().copied().fold(f64::INFINITY, f64::min),
            most: times.iter().copied().fold(0.0, f64::max),
            peak_bytes: trainer_statistics::median(&peaks),
        })
    };
    sizes.into_iter().map(of).collect()
}

fn finding(results: &Results) -> Result<Finding> {
    let rows = results.of("conv")?.as_array().context("a table is a list")?;
    let mut claims = Vec::new();
    let (mut figures, mut tables) = (Vec::new(), Vec::new());
    let mut numbers = Vec::new();
    for mode in ["infer", "train"] {
        let kernels = kernels(rows, mode)?;
        let first = rows.iter().find(|row| row["mode"] == mode).context("a mode was not measured")?;
        let (batch, size) = (number(first, "/batch")?, number(first, "/image_size")?);
        let of = |size: u64| {
            let found = kernels.iter().find(|kernel| kernel.kernel == size);
            found.with_context(|| format!("{} has no kernel of {size}", text(first, "/mode").unwrap_or("it")))
        };
        let (three, five, seven) = (of(3)?, of(5)?, of(7)?);
        let before = (five.median - three.median) / 2.0;
        let behind = (seven.median - five.median) / 2.0;
        claims.push(claim(
            format!("{mode}, batch {batch}: the slope rises beyond 5 x 5"),
            "rises",
            format!("{} a pixel of width from 3 to 5, {} from 5 to 7", ms(before), ms(behind)),
            Holds::if_so(behind > before, "the time rises no faster beyond 5 x 5 on this processor"),
        ));
        let (low, high) = (three.least + five.least, three.most + five.most);
        let holds = if high < seven.least {
            Holds::Yes
        } else if low > seven.most {
            Holds::No("one 7 x 7 is faster on this processor than 5 x 5 and 3 x 3".to_owned())
        } else {
            Holds::Unknown("the runs differ by more than the two ways".to_owned())
        };
        claims.push(claim(
            format!("{mode}, batch {batch}: 5 x 5 and 3 x 3 against 7 x 7"),
            "less time",
            format!("{} against {}", ms(three.median + five.median), ms(seven.median)),
            holds,
        ));
        let steps: Vec<String> = kernels.iter().map(|kernel| format!("{0} x {0}", kernel.kernel)).collect();
        let title = format!("Time of a convolution, {mode}, batch {batch}, {size} x {size} pixels");
        let dots = kernels
            .iter()
            .map(|kernel| Some(Dot { value: kernel.median / 1e6, low: kernel.least / 1e6, high: kernel.most / 1e6 }));
        let time = Line { name: "a step".to_owned(), dots: dots.collect() };
        figures.push(lines(&format!("time-{mode}"), &titles(&title, "kernel", "ms"), Scale::Linear, &steps, &[time])?);
        let title = format!("Memory of a convolution, {mode}, batch {batch}, {size} x {size} pixels");
        let peaks: Vec<Option<f64>> =
            kernels.iter().map(|kernel| Some(kernel.peak_bytes / super::shared::MIB)).collect();
        let memory = [line("peak live bytes", &peaks)];
        figures.push(lines(
            &format!("memory-{mode}"),
            &titles(&title, "kernel", "MiB"),
            Scale::Linear,
            &steps,
            &memory,
        )?);
        tables.push(table(
            format!("{mode}, batch {batch}, {size} x {size} pixels"),
            &[">kernel", ">a step (median of runs)", ">least and most", ">peak live"],
            kernels
                .iter()
                .map(|kernel| {
                    let times = format!("{} .. {}", ms(kernel.least), ms(kernel.most));
                    vec![kernel.kernel.to_string(), ms(kernel.median), times, mib(kernel.peak_bytes)]
                })
                .collect(),
        ));
        numbers.push(format!("{mode} {:.2}", (three.median + five.median) / seven.median));
    }
    Ok(Finding {
        claims,
        number: format!("5 x 5 and 3 x 3 take so many times as long as 7 x 7: {}", numbers.join(", ")),
        figures,
        tables,
        notes: vec![
            "Each run is a process of its own; its median is of all steps but the first. Bars reach from the least to the most of the \
             runs. The document's pictures (c) and (d) are of a GPU, which is not measured here."
                .to_owned(),
        ],
    })
}
