//! Row 12: how busy the processors are, over time and against the batch.
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::shared::{WARM_UP, all_timed, claim, least_to_most, line_of_runs, lines, points, table, titles};
use crate::chart::{self, Scale, Series};
use crate::reproduce::results::{Depth, Results, list, number, text};
use crate::reproduce::spec::{Claim, FOLDER, Figure, Finding, Holds, Measurement, Row, Work};

pub(super) const ROW: Row = Row {
    number: 12,
    title: "How busy the processors are",
    seed: "001, Observations 1 to 5, Figures 3 to 5",
    published: "Each core of a TX2's CPU is busy 0 to 60 % of the time, its GPU 71 to 96 %. The pattern repeats with each step. From \
                batch 4 to 64 the CPU's use changes by 2.1 % on average.",
    work: Work { measurements, finding },
};

/// The network of the document's Figure 3, which is drawn over time.
const DRAWN: &str = "inception_v1";
/// Those that run with both batches, and what the document calls them.
const MODELS: [(&str, &str); 2] = [("densenet40_12", "--image-size 32"), ("squeezenet1_1", "--image-size 64")];
const BATCHES: [u64; 2] = [4, 64];
const RUNS: u64 = 3;
/// The document's numbers: the busiest core, and by how much the use changes with the batch.
const BUSIEST: f64 = 60.0;
const CHANGE: f64 = 2.1;

fn measurements(depth: Depth) -> Vec<Measurement> {
    let (steps, drawn) = match depth {
        Depth::Quick => (6, "--batch 8 --image-size 224 --steps 6"),
        Depth::Full => (10, "--batch 32 --image-size 224 --steps 6"),
    };
    let of = |name: String, work: String| {
        let timeline = format!("{FOLDER}/run.timeline.json");
        Measurement {
            name,
            commands: vec![
                format!("trainer train {work} --out {timeline}"),
                format!("viewer power {timeline} --json"),
                format!("viewer series {timeline} --top 1 --columns 1 --json"),
            ],
            keep: &["utilisation/cores", "lanes/span_ns", "lanes/lanes", "lanes/unavailable", "steps"],
        }
    };
    let mut all = vec![of("drawn".to_owned(), format!("--model {DRAWN} {drawn}"))];
    // Networks and batches take turns.
    for run in 1..=RUNS {
        for (model, size) in MODELS {
            for batch in BATCHES {
                let work = format!("--model {model} --batch {batch} {size} --steps {steps}");
                all.push(of(format!("{model}-{batch}-{run}"), work));
            }
        }
    }
    all
}

/// One line of a lane: its name, and its value in each span of time that has one.
type Line<'a> = (&'a str, Vec<Option<f64>>);

/// The lines of the lane of this name.
fn lines_of<'a>(run: &'a Value, name: &str) -> Result<Vec<Line<'a>>> {
    let lane = list(run, "/lanes/lanes")?.iter().find(|lane| lane["name"] == name);
    let lane = lane.with_context(|| format!("the recording has no lane `{name}`"))?;
    let of = |line: &'a Value| {
        let values = list(line, "/values")?.iter().map(Value::as_f64).collect();
        Ok((text(line, "/name")?, values))
    };
    list(lane, "/lines")?.iter().map(of).collect()
}

/// The mean over the time between two instants.
fn mean(values: &[Option<f64>], span_ns: f64, from: f64, to: f64) -> Option<f64> {
    let (first, last) = ((from / span_ns) as usize, (to / span_ns) as usize);
    let known: Vec<f64> = values.iter().skip(first).take(last - first + 1).copied().flatten().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// The spans of the steps behind those that warm up, in nanoseconds.
fn steps(run: &Value) -> Result<Vec<(f64, f64)>> {
    let steps = list(run, "/steps")?.iter().skip(WARM_UP);
    steps.map(|step| Ok((number(step, "/start_ns")?, number(step, "/end_ns")?))).collect()
}

/// Processors that the process used in each step behind the warm-up.
fn used(run: &Value) -> Result<Vec<f64>> {
    let span = number(run, "/lanes/span_ns")?;
    let lines = lines_of(run, "processors used")?;
    let (_, values) = lines.first().context("the lane of the processors has no line")?;
    let used: Vec<f64> = steps(run)?.into_iter().filter_map(|(from, to)| mean(values, span, from, to)).collect();
    ensure!(!used.is_empty(), "no step behind the warm-up has a reading");
    Ok(used)
}

/// Processors used over all steps of a run.
fn use_of(run: &Value) -> Result<f64> {
    let used = used(run)?;
    Ok(used.iter().sum::<f64>() / used.len() as f64)
}

fn finding(results: &Results) -> Result<Finding> {
    let drawn = results.of("drawn")?;
    let processors = list(drawn, "/utilisation/cores")?.len().max(1) as f64;
    let mut claims = vec![cores(drawn)?, gpu(drawn), periodic(drawn)?];
    let (mut rows, mut drawn_lines, mut changes) = (Vec::new(), Vec::new(), Vec::new());
    for (model, _) in MODELS {
        let mut by_batch = Vec::new();
        for batch in BATCHES {
            let runs = results.beginning(&format!("{model}-{batch}-"));
            // In parts of a hundred of all processors.
            let shares =
                runs.iter().map(|(_, run)| Ok(100.0 * use_of(run)? / processors)).collect::<Result<Vec<f64>>>()?;
            ensure!(!shares.is_empty(), "{model} did not run with batch {batch}");
            rows.push(vec![model.to_owned(), batch.to_string(), format!("{} %", least_to_most(&shares, points))]);
            by_batch.push(shares);
        }
        changes
            .push(by_batch[0].iter().zip(&by_batch[1]).map(|(small, large)| (large - small).abs()).collect::<Vec<_>>());
        drawn_lines.push(line_of_runs(model, &by_batch));
    }
    // On average over the networks, run by run.
    let runs = changes.iter().map(Vec::len).min().unwrap_or(0);
    let average: Vec<f64> =
        (0..runs).map(|run| changes.iter().map(|of| of[run]).sum::<f64>() / changes.len() as f64).collect();
    let steady: Vec<bool> = average.iter().map(|change| *change <= CHANGE).collect();
    claims.push(claim(
        "the processors' use from batch 4 to 64, on average",
        "changes by 2.1 %",
        format!("by {} points", least_to_most(&average, points)),
        Holds::in_every(&steady, "the processors compute the network here, and a larger batch keeps more of them busy"),
    ));
    let title = "Use of all processors against the batch";
    let names = BATCHES.map(|batch| batch.to_string());
    Ok(Finding {
        number: format!("each core is busy {}", claims[0].measured),
        claims: all_timed(results, claims),
        figures: vec![
            over_time(drawn)?,
            lines("batch", &titles(title, "batch", "% of all processors"), Scale::Linear, &names, &drawn_lines)?,
        ],
        tables: vec![table("What the process used of all processors", &["model", ">batch", ">used"], rows)],
        notes: vec![
            "libtorch computes with as many threads as the machine has processors. The use of a core is that by all programs, as the \
             kernel counts it; the use of all processors is the process's own. Both are of the steps behind the first three, but for \
             the cores' claim, which is of the whole recording. The recorder reads them every 100 ms or so."
                .to_owned(),
        ],
    })
}

fn cores(run: &Value) -> Result<Claim> {
    let busy = list(run, "/utilisation/cores")?.iter().map(|core| Ok(number(core, "/busy_permille")? / 10.0));
    let busy = busy.collect::<Result<Vec<f64>>>()?;
    ensure!(!busy.is_empty(), "the kernel told of no core");
    let (_, most) = trainer_statistics::range(&busy);
    Ok(claim(
        "each core is busy",
        "0 to 60 %",
        format!("{} %", least_to_most(&busy, points)),
        Holds::if_so(most <= BUSIEST, "the processors compute the network here, which on a TX2 the GPU does"),
    ))
}

fn gpu(run: &Value) -> Claim {
    let reasons = run.pointer("/lanes/unavailable").and_then(Value::as_array).into_iter().flatten();
    let reason = reasons.filter_map(Value::as_str).find(|reason| reason.starts_with("GPU: "));
    let reason =
        reason.map_or("the networks ran on processors".to_owned(), |reason| reason.replace("unavailable: ", ""));
    claim(
        "the GPU is busy",
        "71 to 96 %",
        "-",
        Holds::Unknown(format!(
            "{reason}; on a machine with one `trainer train --device cuda:0 --model resnet50 --batch 64` and `viewer power` tell"
        )),
    )
}

fn periodic(run: &Value) -> Result<Claim> {
    let used = used(run)?;
    Ok(claim(
        "the pattern repeats with each step",
        "it does; there is no figure of how alike steps are",
        format!("{} processors used in {} steps", least_to_most(&used, |used| format!("{used:.2}")), used.len()),
        Holds::Unknown("the document has no number that could be met".to_owned()),
    ))
}

/// The cores over three steps, or what there are behind the warm-up.
fn over_time(run: &Value) -> Result<Figure> {
    let span = number(run, "/lanes/span_ns")?;
    let steps = steps(run)?;
    let first = steps.first().context("no step behind the warm-up")?.0;
    let last = steps.last().map_or(first, |step| step.1);
    let series = |(name, values): (&str, Vec<Option<f64>>)| {
        let dots = values.iter().enumerate().filter_map(|(place, value)| {
            let time = (place as f64 + 0.5) * span;
            Some(((time - first) / 1e9, (*value)?)).filter(|_| (first..=last).contains(&time))
        });
        Series { name: name.to_owned(), dots: dots.collect() }
    };
    let all: Vec<Series> = lines_of(run, "cores, by any process")?.into_iter().map(series).collect();
    let title = format!("{DRAWN}: use of the cores in {} steps", steps.len());
    let svg = chart::points(&titles(&title, "seconds", "% busy"), &all)?;
    Ok(Figure { name: "cores".to_owned(), title, svg })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::results::{Outcome, example};
    use serde_json::json;

    /// Six steps of a tenth of a second each, in which the process uses so many processors.
    fn run(used: f64) -> Outcome {
        let ns = 100_000_000_u64;
        let steps: Vec<Value> =
            (0..6).map(|step| json!({ "start_ns": step * ns, "end_ns": (step + 1) * ns - 1 })).collect();
        let line = |name: &str, value: f64| json!({ "name": name, "values": vec![value; 6] });
        Outcome::Done(json!({
            "utilisation": { "cores": [{ "core": 0, "busy_permille": 990 }, { "core": 1, "busy_permille": 300 }] },
            "steps": steps,
            "lanes": {
                "span_ns": ns, "unavailable": ["GPU: unavailable: no driver"],
                "lanes": [
                    { "name": "processors used", "lines": [line("this process", used)] },
                    { "name": "cores, by any process", "lines": [line("core 0", 99.0), line("core 1", 30.0)] },
                ],
            },
        }))
    }

    /// Of two processors 1.0 and 1.02 are 50 and 51 %, 1.8 and 1.8 are 90 %: half a point on average.
    #[test]
    fn use_changes_with_the_batch() {
        let results = |large: f64| {
            let all = [
                ("drawn", run(1.5)),
                ("densenet40_12-4-1", run(1.0)),
                ("densenet40_12-64-1", run(large)),
                ("squeezenet1_1-4-1", run(1.8)),
                ("squeezenet1_1-64-1", run(1.8)),
            ];
            finding(&example(12, all.into())).expect("a finding")
        };
        let found = results(1.02);
        assert!(
            matches!(found.claims[0].holds, Holds::No(_)) && found.number == "each core is busy 30.0 to 99.0 %",
            "{}",
            found.number
        );
        assert_eq!((found.claims[3].measured.as_str(), &found.claims[3].holds), ("by 0.5 points", &Holds::Yes));
        let Holds::Unknown(because) = &found.claims[1].holds else { panic!("there is no GPU") };
        assert!(because.starts_with("GPU: no driver; on a machine with one"), "{because}");
        // 1.0 to 1.2 are 10 points of one network, 5 on average.
        assert!(matches!(results(1.2).claims[3].holds, Holds::No(_)));
        assert_eq!(found.figures.len(), 2);
    }

    #[test]
    fn the_mean_is_of_the_spans_between() {
        let values = [Some(1.0), Some(2.0), None, Some(6.0)];
        assert_eq!(mean(&values, 10.0, 10.0, 35.0), Some(4.0));
        assert_eq!(mean(&values, 10.0, 20.0, 29.0), None);
    }
}
