//! Row 10: what a profiler that samples every 10 ms says of operators, beside the measured times of the same run.
use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::shared::{THREADS, all_timed, claim, least_to_most, ms, percent, table, titles};
use crate::chart::{self, COLOURS, Part};
use crate::reproduce::results::{Depth, Results, list, number, text};
use crate::reproduce::spec::{FOLDER, Figure, Finding, Holds, Measurement, Row, Work};

pub(super) const ROW: Row = Row {
    number: 10,
    title: "Samples every 10 ms, joined with the operators that ran",
    seed: "001, Section 3",
    published: "The tool records when each operation begins and ends, samples the hardware every 10 ms, and joins the two by time. So it \
                can tell performance problems of fine-grained operations. How wrong such a join is, the document does not say.",
    work: Work { measurements, finding },
};

/// How often the network runs: a claim about times holds when it does in every run.
const RUNS: u64 = 3;
/// Operators that the picture and the table show.
const SHOWN: usize = 8;
/// The dimension of operators in the viewer's answer.
const OPERATORS: &str = "op";

fn measurements(depth: Depth) -> Vec<Measurement> {
    let work = if depth == Depth::Quick { "--batch 4 --image-size 64" } else { "--batch 32 --image-size 224" };
    let timeline = format!("{FOLDER}/run.timeline.json");
    let of = |number: u64| Measurement {
        name: format!("run-{number}"),
        commands: vec![
            format!("trainer train --model mobilenet_v1 {work} --steps 15 {THREADS} --layer-times on --out {timeline}"),
            format!("viewer power {timeline} --json"),
        ],
        keep: &["sampling", "by_op", "utilisation/duration_ns", "utilisation/intervals"],
    };
    (1..=RUNS).map(of).collect()
}

/// One dimension of one run.
struct Error<'a> {
    dimension: &'a str,
    /// The part of the time that is given to a wrong name.
    misplaced: f64,
    names: f64,
    never_hit: f64,
    /// Half of the names with a hundredth of the time or more are off by more than this part of their time.
    median: f64,
}

impl<'a> Error<'a> {
    fn all(run: &'a Value) -> Result<Vec<Error<'a>>> {
        let of = |error: &'a Value| {
            Ok(Error {
                dimension: text(error, "/dimension")?,
                misplaced: number(error, "/misplaced")?,
                names: number(error, "/names")?,
                never_hit: number(error, "/never_hit")?,
                median: number(error, "/median")?,
            })
        };
        list(run, "/sampling")?.iter().map(of).collect()
    }
}

fn finding(results: &Results) -> Result<Finding> {
    let runs = results.beginning("run-");
    let errors = runs.iter().map(|(_, run)| Error::all(run)).collect::<Result<Vec<_>>>()?;
    ensure!(!errors.is_empty(), "no run ended");
    let of = |dimension: &str| -> Vec<&Error<'_>> {
        errors.iter().flatten().filter(|error| error.dimension == dimension).collect()
    };
    let operators = of(OPERATORS);
    ensure!(!operators.is_empty(), "no operator was timed");
    let misplaced: Vec<f64> = operators.iter().map(|error| error.misplaced).collect();
    let each: Vec<bool> = operators.iter().map(|error| error.never_hit == 0.0).collect();
    let missed = operators.iter().map(|error| error.never_hit).collect::<Vec<_>>();
    let names = operators.iter().map(|error| error.names).collect::<Vec<_>>();
    let whole = |count: f64| format!("{count:.0}");
    let claims = vec![claim(
        "the join tells of each fine-grained operation",
        "it does; there is no figure of its error",
        format!(
            "of {} operators no sample hits {}; {} of the time goes to a wrong operator",
            least_to_most(&names, whole),
            least_to_most(&missed, whole),
            least_to_most(&misplaced, percent)
        ),
        Holds::in_every(&each, "what is shorter than the distance of two samples is often hit by none"),
    )];
    let rows = ["phase", "layer", OPERATORS].map(|dimension| {
        let errors = of(dimension);
        let all = |value: fn(&Error<'_>) -> f64, text: &dyn Fn(f64) -> String| {
            least_to_most(&errors.iter().map(|error| value(error)).collect::<Vec<_>>(), text)
        };
        vec![
            dimension.to_owned(),
            all(|error| error.names, &whole),
            all(|error| error.never_hit, &whole),
            all(|error| error.misplaced, &percent),
            all(|error| error.median, &percent),
        ]
    });
    let (figure, longest) = longest(runs[0].1)?;
    let intervals = runs.iter().map(|(_, run)| interval(run)).collect::<Result<Vec<_>>>()?;
    Ok(Finding {
        claims: all_timed(results, claims),
        number: format!("{} of the time goes to a wrong operator", least_to_most(&misplaced, percent)),
        figures: vec![figure],
        tables: vec![
            table(
                "What the samples give to a wrong name",
                &["by", ">names", ">never hit", ">of the time misplaced", ">half of them off by more than"],
                rows.into(),
            ),
            table("The longest operators of run 1", &["operator", ">measured", ">by samples"], longest),
        ],
        notes: vec![format!(
            "MobileNetV1 in training, 15 steps; all of a run counts, its first steps too. Both columns are of the same run: at the end of \
             each interval ({} in the mean) the recorder gives all of it to the operator that is active then, as the \
             join of a sampling profiler does, and beside that it has what each operator really took. The half is of the names with at \
             least 1 % of the time.",
            least_to_most(&intervals, ms)
        )],
    })
}

/// The mean length of an interval, in nanoseconds.
fn interval(run: &Value) -> Result<f64> {
    Ok(number(run, "/utilisation/duration_ns")? / number(run, "/utilisation/intervals")?)
}

/// The longest operators of a run as a picture, two rows for each, and as a table.
fn longest(run: &Value) -> Result<(Figure, Vec<Vec<String>>)> {
    let operators = list(run, "/by_op")?.iter().take(SHOWN);
    let of =
        |one: &Value| Ok((text(one, "/name")?.to_owned(), number(one, "/active_ns")?, number(one, "/sampled_ns")?));
    let operators = operators.map(of).collect::<Result<Vec<_>>>()?;
    operators.first().context("no operator was timed")?;
    let names: Vec<String> =
        operators.iter().flat_map(|(name, ..)| [name.clone(), format!("{name}, by samples")]).collect();
    // Each row has one of the two values.
    let measured = operators.iter().flat_map(|(_, active, _)| [active / 1e6, 0.0]).collect();
    let sampled = operators.iter().flat_map(|(.., sampled)| [0.0, sampled / 1e6]).collect();
    let parts = [
        Part { name: "measured".to_owned(), colour: COLOURS[1], values: measured },
        Part { name: "by samples".to_owned(), colour: COLOURS[2], values: sampled },
    ];
    let title = "The longest operators: measured, and by samples every 10 ms";
    let svg = chart::rows(&titles(title, "ms", ""), &names, &parts, &[])?;
    let rows = operators.iter().map(|(name, active, sampled)| vec![name.clone(), ms(*active), ms(*sampled)]);
    Ok((Figure { name: "operators".to_owned(), title: title.to_owned(), svg }, rows.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::results::{Outcome, example};
    use serde_json::json;

    fn run(misplaced: f64, never_hit: u64) -> Outcome {
        let error = |dimension: &str, misplaced: f64, never_hit: u64| json!({ "dimension": dimension, "misplaced": misplaced, "names": 20, "never_hit": never_hit, "median": 0.25 });
        Outcome::Done(json!({
            "sampling": [error("phase", 0.01, 0), error("layer", 0.1, 3), error("op", misplaced, never_hit)],
            "by_op": [{ "name": "aten::conv2d", "active_ns": 5_000_000, "sampled_ns": 10_000_000 }],
            "utilisation": { "duration_ns": 1_000_000_000, "intervals": 100 },
        }))
    }

    #[test]
    fn an_operator_that_no_sample_hits() {
        let results = example(10, vec![("run-1", run(0.05, 4)), ("run-2", run(0.07, 6))]);
        let found = finding(&results).expect("a finding");
        assert!(matches!(found.claims[0].holds, Holds::No(_)), "{:?}", found.claims);
        assert_eq!(
            found.claims[0].measured,
            "of 20 operators no sample hits 4 to 6; 5.0 % to 7.0 % of the time goes to a wrong operator"
        );
        assert_eq!(found.tables[1].rows, [["aten::conv2d", "5.0 ms", "10.0 ms"]]);
        assert!(found.notes[0].contains("(10.0 ms in the mean)"), "a second in a hundred intervals");
        let hit = example(10, vec![("run-1", run(0.05, 0)), ("run-2", run(0.05, 1))]);
        assert!(matches!(finding(&hit).expect("a finding").claims[0].holds, Holds::Unknown(_)), "in one run of two");
    }
}
