//! Row 4: one convolution, kernel by kernel.
use anyhow::{Result, ensure};
use serde_json::Value;

use super::shared::{MIB, THREADS, all_timed, claim, least_to_most, line, line_of_runs, lines, ms, table, titles};
use crate::chart::Scale;
use crate::reproduce::results::{Depth, Results, list, number, text};
use crate::reproduce::spec::{Claim, FOLDER, Figure, Finding, Holds, Measurement, Row, Work};

pub(super) const ROW: Row = Row {
    number: 4,
    title: "One convolution: kernels of 1 to 11",
    seed: "000, Figure 7",
    published: "32 channels in and out, 256 x 256 pixels, batch 4 in inference and 32 in training: the time rises faster with the \
                kernel beyond 5 x 5, and on a Jetson 5 x 5 and 3 x 3 together take less time than one 7 x 7.",
    work: Work { measurements, finding },
};

const MODES: [&str; 2] = ["infer", "train"];

fn measurements(depth: Depth) -> Vec<Measurement> {
    let quick = if depth == Depth::Quick { "--quick " } else { "" };
    vec![Measurement::json("kernels", format!("trainer conv-bench {quick}{THREADS} --json --out {FOLDER}"))]
}

/// All runs of one mode.
struct Mode<'a> {
    name: &'a str,
    kernels: Vec<u64>,
    /// Median steps in nanoseconds: for each kernel, one for each run.
    steps: Vec<Vec<f64>>,
    /// The peak of live bytes of each kernel: the highest of its runs.
    peaks: Vec<f64>,
    /// Floating-point operations of a forward pass.
    operations: Vec<f64>,
}

impl<'a> Mode<'a> {
    fn of(name: &'a str, runs: &[Value]) -> Result<Mode<'a>> {
        let runs: Vec<&Value> = runs.iter().filter(|run| run["mode"] == name).collect();
        let mut kernels = runs.iter().map(|run| Ok(number(run, "/kernel")? as u64)).collect::<Result<Vec<_>>>()?;
        kernels.sort_unstable();
        kernels.dedup();
        let mut mode = Mode { name, kernels, steps: Vec::new(), peaks: Vec::new(), operations: Vec::new() };
        for kernel in mode.kernels.clone() {
            let mut of: Vec<&&Value> = runs.iter().filter(|run| run["kernel"] == kernel).collect();
            of.sort_by_key(|run| run["repeat"].as_u64());
            mode.steps.push(of.iter().map(|run| steady(run)).collect::<Result<_>>()?);
            let peaks = of.iter().map(|run| number(run, "/peak_live_bytes")).collect::<Result<Vec<_>>>()?;
            mode.peaks.push(peaks.into_iter().fold(0.0, f64::max));
            mode.operations.push(of.first().map_or(Ok(0.0), |run| number(run, "/forward_operations"))?);
        }
        Ok(mode)
    }

    /// The steps of a kernel, one for each run.
    fn steps(&self, kernel: u64) -> Result<&[f64]> {
        let place = self.kernels.iter().position(|one| *one == kernel);
        let steps = place.map(|place| self.steps[place].as_slice());
        ensure!(steps.is_some(), "{}: no kernel of {kernel} x {kernel} was measured", self.name);
        Ok(steps.unwrap_or_default())
    }

    fn claims(&self) -> Result<Vec<Claim>> {
        let [three, five, seven] = [self.steps(3)?, self.steps(5)?, self.steps(7)?];
        let runs = || three.iter().zip(five).zip(seven).map(|((three, five), seven)| (*three, *five, *seven));
        let first: Vec<f64> = runs().map(|(three, five, _)| five - three).collect();
        let second: Vec<f64> = runs().map(|(_, five, seven)| seven - five).collect();
        let steeper: Vec<bool> = runs().map(|(three, five, seven)| seven - five > five - three).collect();
        let both: Vec<f64> = runs().map(|(three, five, seven)| (three + five) / seven).collect();
        let less: Vec<bool> = both.iter().map(|ratio| *ratio < 1.0).collect();
        let name = self.name;
        Ok(vec![
            claim(
                format!("{name}: from 5 x 5 to 7 x 7 the time rises more than from 3 x 3 to 5 x 5"),
                "it does",
                format!("by {}, after {}", least_to_most(&second, ms), least_to_most(&first, ms)),
                Holds::in_every(&steeper, format!("the slope does not rise beyond 5 x 5 in {name}")),
            ),
            claim(
                format!("{name}: 5 x 5 and 3 x 3 together, in times of 7 x 7"),
                "less than 1, on a Jetson",
                least_to_most(&both, |ratio| format!("{ratio:.2}")),
                Holds::in_every(&less, format!("the two kernels take as long as 7 x 7 or longer in {name} here")),
            ),
        ])
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |place: usize| {
            let steps = &self.steps[place];
            let speed = self.operations[place] / trainer_statistics::median(steps);
            vec![
                self.name.to_owned(),
                format!("{0} x {0}", self.kernels[place]),
                least_to_most(steps, ms),
                if self.name == "infer" { format!("{speed:.1}") } else { "-".to_owned() },
                format!("{:.1} MiB", self.peaks[place] / MIB),
            ]
        };
        (0..self.kernels.len()).map(row).collect()
    }

    fn figure(&self, batch: f64, side: f64) -> Result<Figure> {
        let title = format!("One convolution in {}: batch {batch}, {side} x {side} pixels", work_of(self.name));
        let steps: Vec<Vec<f64>> = self.steps.iter().map(|steps| steps.iter().map(|ns| ns / 1e6).collect()).collect();
        let drawn = [line_of_runs("a step", &steps)];
        lines(self.name, &titles(&title, "kernel", "ms"), Scale::Linear, &self.names(), &drawn)
    }

    fn names(&self) -> Vec<String> {
        self.kernels.iter().map(|kernel| format!("{kernel} x {kernel}")).collect()
    }
}

/// The median step of a run of `conv-bench`, of which the first step warms up.
fn steady(run: &Value) -> Result<f64> {
    let steps: Vec<f64> = list(run, "/step_ns")?.iter().filter_map(Value::as_f64).collect();
    ensure!(!steps.is_empty(), "a run did no step");
    Ok(trainer_statistics::median(if steps.len() > 1 { &steps[1..] } else { &steps }))
}

fn work_of(mode: &str) -> &str {
    if mode == "train" { "training" } else { "inference" }
}

fn finding(results: &Results) -> Result<Finding> {
    let runs = list(results.of("kernels")?, "/runs")?;
    let modes = MODES.iter().map(|mode| Mode::of(mode, runs)).collect::<Result<Vec<_>>>()?;
    let (mut claims, mut figures, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    for mode in &modes {
        let first = runs.iter().find(|run| text(run, "/mode").is_ok_and(|of| of == mode.name));
        let of = |pointer: &str| first.map_or(Ok(0.0), |run| number(run, pointer));
        claims.extend(mode.claims()?);
        figures.push(mode.figure(of("/batch")?, of("/image_size")?)?);
        rows.extend(mode.rows());
    }
    let memory: Vec<_> = modes
        .iter()
        .map(|mode| line(mode.name, &mode.peaks.iter().map(|peak| Some(peak / MIB)).collect::<Vec<_>>()))
        .collect();
    let title = "One convolution: the most live bytes";
    figures.push(lines("memory", &titles(title, "kernel", "MiB"), Scale::Linear, &modes[0].names(), &memory)?);
    let both = claims.iter().skip(1).step_by(2).map(|claim| claim.measured.as_str()).collect::<Vec<_>>();
    Ok(Finding {
        number: format!("5 x 5 and 3 x 3 together, in times of 7 x 7: {} (infer), {} (train)", both[0], both[1]),
        claims: all_timed(results, claims),
        figures,
        tables: vec![table(
            "By kernel",
            &["mode", "kernel", ">a step", ">10^9 operations a second", ">peak live bytes"],
            rows,
        )],
        notes: vec![
            "A step is the median of a run without its first step, from the least to the most of the runs; the bars of the pictures \
             say the same. A kernel of k x k computes with k x k weights for each pixel: from 5 to 7 they grow by 24, from 3 to 5 by 16, so \
             with one time for each weight the slope is 1.5 times as steep, and 5 x 5 and 3 x 3 take 0.69 of 7 x 7."
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::results::{Outcome, example};
    use serde_json::json;

    /// Runs in which a step of a kernel takes `ns`, in each mode.
    fn results(ns: impl Fn(u64, u64) -> u64) -> Results {
        let mut runs = Vec::new();
        for (mode, kernel, repeat) in MODES
            .iter()
            .flat_map(|mode| [1, 3, 5, 7].map(|kernel| (*mode, kernel)))
            .flat_map(|(mode, kernel)| [1, 2, 3].map(|repeat| (mode, kernel, repeat)))
        {
            runs.push(json!({
                "mode": mode, "kernel": kernel, "repeat": repeat, "batch": 1, "image_size": 64,
                "step_ns": [9_000_000, ns(kernel, repeat)], "peak_live_bytes": 3 << 20, "forward_operations": 1_000_000,
            }));
        }
        example(4, vec![("kernels", Outcome::Done(json!({ "runs": runs })))])
    }

    /// A millisecond for each weight: 9, 25 and 49, so 49 - 25 = 24 after 25 - 9 = 16, and (9 + 25) / 49 = 0.69.
    #[test]
    fn a_time_for_each_weight_meets_both_claims() {
        let found = finding(&results(|kernel, _| kernel * kernel * 1_000_000)).expect("a finding");
        let holds: Vec<bool> = found.claims.iter().map(|claim| claim.holds == Holds::Yes).collect();
        assert_eq!(holds, [true; 4]);
        assert_eq!(
            (found.claims[0].measured.as_str(), found.claims[1].measured.as_str()),
            ("by 24.0 ms, after 16.0 ms", "0.69")
        );
        assert_eq!((found.figures.len(), found.tables[0].rows.len()), (3, 8));
    }

    /// 10, 20 and 28 in two runs, and 10, 20 and 31 in the third: the second rise is smaller, or larger.
    #[test]
    fn runs_that_disagree_leave_it_open() {
        let ns = |kernel, repeat| match kernel {
            7 if repeat == 3 => 31_000,
            7 => 28_000,
            5 => 20_000,
            _ => 10_000,
        };
        let found = finding(&results(ns)).expect("a finding");
        assert_eq!(found.claims[0].holds, Holds::Unknown("1 of 3 runs meet it".to_owned()));
        // 30 of 28, and 30 of 31.
        assert_eq!(found.claims[1].measured, "0.97 to 1.07");
    }
}
