//! How the rows read steps, and write numbers, claims and pictures.
use anyhow::{Context, Result};
use serde_json::Value;
use trainer_statistics::Summary;

use crate::chart::{self, BoxRow, Dot, Line, Scale, Titles};
use crate::reproduce::results::{Results, list};
use crate::reproduce::spec::{Claim, Figure, Finding, Holds, Table};

/// Threads of libtorch in all runs. With one, the bytes and the parts of a step do not depend on how many processors a machine
/// has, and on a busy machine no thread waits for another.
pub(super) const THREADS: &str = "--threads 1";
/// Steps of a run that warm up, as in seed 001.
pub(super) const WARM_UP: usize = 3;
/// Of a machine on which others use no more processors than this, times are told.
const QUIET: f64 = 0.1;
/// Bytes of a MiB.
pub(super) const MIB: f64 = 1_048_576.0;

/// `12.3 MiB`.
pub(super) fn mib(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / MIB)
}

/// `12.3 ms`.
pub(super) fn ms(ns: f64) -> String {
    format!("{:.1} ms", ns / 1e6)
}

/// `12.3 %` of a part of 1.
pub(super) fn percent(part: f64) -> String {
    // Adding 0 makes a 0 of a -0.
    format!("{:.1} %", (1000.0 * part).round() / 10.0 + 0.0)
}

/// `12.3 ms`, or `12.3 to 14.5 ms` where the values differ: from the least to the most, as `text` has them.
pub(super) fn least_to_most(values: &[f64], text: impl Fn(f64) -> String) -> String {
    if values.is_empty() {
        return "-".to_owned();
    }
    let (least, most) = trainer_statistics::range(values);
    let (least, most) = (text(least), text(most));
    if least == most { least } else { format!("{least} to {most}") }
}

/// The median step of a run in nanoseconds, without those that warm up.
pub(super) fn median_step(run: &Value) -> Result<f64> {
    let steps: Vec<f64> = list(run, "/step_ns")?.iter().filter_map(Value::as_f64).collect();
    let last = steps.last().context("a run did no step")?;
    let steady = if steps.len() > WARM_UP { &steps[WARM_UP..] } else { std::slice::from_ref(last) };
    Ok(trainer_statistics::median(steady))
}

/// Shares of held-out images that were told right, in points of a hundred: before the first step, and after each day or the last.
pub(super) fn accuracies(run: &Value) -> Result<Vec<f64>> {
    Ok(list(run, "/accuracy")?.iter().filter_map(Value::as_f64).map(|share| 100.0 * share).collect())
}

/// The last of them.
pub(super) fn last_accuracy(run: &Value) -> Result<f64> {
    accuracies(run)?.last().copied().context("a run has no accuracy")
}

/// `12.3` points of a hundred.
pub(super) fn points(value: f64) -> String {
    format!("{value:.1}")
}

/// Why nothing was measured, where no measurement gave numbers.
pub(super) fn nothing_measured(results: &Results) -> Option<String> {
    let reason =
        || results.failed().first().map(|(_, reason)| reason.rsplit("error: ").next().unwrap_or(reason).to_owned());
    if results.beginning("").is_empty() { reason() } else { None }
}

/// What is said of a claim about times: nothing where other programs kept the processors busy meanwhile, or may have.
pub(super) fn timed(results: &Results, holds: Holds) -> Holds {
    match results.others() {
        Some(others) if others <= QUIET => holds,
        Some(others) => Holds::Unknown(format!(
            "other programs used {others:.1} processors meanwhile, and times of a busy machine say nothing"
        )),
        None => Holds::Unknown("it is not known what other programs did meanwhile".to_owned()),
    }
}

/// The same of claims that are all about times.
pub(super) fn all_timed(results: &Results, claims: Vec<Claim>) -> Vec<Claim> {
    claims.into_iter().map(|claim| Claim { holds: timed(results, claim.holds), ..claim }).collect()
}

/// A finding of claims that cannot be told here: each with what was published.
pub(super) fn cannot_be_told(claims: &[(&str, &str)], because: &str) -> Finding {
    let claims =
        claims.iter().map(|(what, published)| claim(*what, *published, "-", Holds::Unknown(because.to_owned())));
    Finding {
        claims: claims.collect(),
        number: "not measured here".to_owned(),
        figures: Vec::new(),
        tables: Vec::new(),
        notes: Vec::new(),
    }
}

/// A claim.
pub(super) fn claim(
    what: impl Into<String>,
    published: impl Into<String>,
    measured: impl Into<String>,
    holds: Holds,
) -> Claim {
    Claim { what: what.into(), published: published.into(), measured: measured.into(), holds }
}

/// A table.
pub(super) fn table(title: impl Into<String>, heads: &[&str], rows: Vec<Vec<String>>) -> Table {
    Table { title: title.into(), heads: heads.iter().map(|&head| head.to_owned()).collect(), rows }
}

/// The titles of a picture and its axes.
pub(super) fn titles(title: &str, below: &str, left: &str) -> Titles {
    Titles { title: title.to_owned(), below: below.to_owned(), left: left.to_owned() }
}

/// A line of values without intervals. Steps without a value have a gap.
pub(super) fn line(name: impl Into<String>, values: &[Option<f64>]) -> Line {
    let dot = |value: &Option<f64>| value.map(|value| Dot { value, low: value, high: value });
    Line { name: name.into(), dots: values.iter().map(dot).collect() }
}

/// A line of medians with bars from the least to the most of each step's values.
pub(super) fn line_of_runs(name: impl Into<String>, values: &[Vec<f64>]) -> Line {
    let dot = |values: &Vec<f64>| {
        let (low, high) = trainer_statistics::range(values);
        (!values.is_empty()).then(|| Dot { value: trainer_statistics::median(values), low, high })
    };
    Line { name: name.into(), dots: values.iter().map(dot).collect() }
}

/// A picture with a box for each name that has values.
pub(super) fn boxes(name: &str, titles: &Titles, values: &[(String, Vec<f64>)]) -> Result<Figure> {
    let row = |(name, values): &(String, Vec<f64>)| {
        let Summary { min, q1, median, q3, max, .. } = Summary::of(values)?;
        Some(BoxRow { name: name.clone(), min, q1, median, q3, max })
    };
    let rows: Vec<BoxRow> = values.iter().filter_map(row).collect();
    Ok(Figure { name: name.to_owned(), title: titles.title.clone(), svg: chart::boxes(titles, &rows)? })
}

/// A picture of lines.
pub(super) fn lines(name: &str, titles: &Titles, scale: Scale, steps: &[String], lines: &[Line]) -> Result<Figure> {
    Ok(Figure { name: name.to_owned(), title: titles.title.clone(), svg: chart::lines(titles, scale, steps, lines)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::results::{Outcome, example};
    use serde_json::json;

    #[test]
    fn times_of_a_busy_machine_are_not_told() {
        let mut results = example(4, vec![("a", Outcome::Done(json!({}))), ("b", Outcome::Done(json!({})))]);
        assert_eq!(timed(&results, Holds::Yes), Holds::Yes, "others used a hundredth of a processor");
        results.measured[1].others = Some(1.5);
        let Holds::Unknown(because) = timed(&results, Holds::Yes) else { panic!("others used 1.5 processors") };
        assert!(because.starts_with("other programs used 1.5 processors"), "{because}");
        results.measured[0].others = None;
        assert!(matches!(timed(&results, Holds::Yes), Holds::Unknown(_)), "of the first it is not known");
    }

    #[test]
    fn next_to_nothing_has_no_sign() {
        assert_eq!([-0.0004, 0.0004, -0.0006, 0.123].map(percent), ["0.0 %", "0.0 %", "-0.1 %", "12.3 %"]);
    }

    #[test]
    fn values_of_runs() {
        let whole = |value: f64| format!("{value:.0}");
        assert_eq!([&[3.0, 1.0][..], &[2.0, 2.2], &[]].map(|of| least_to_most(of, whole)), ["1 to 3", "2", "-"]);
        let step = |steps: &[u64]| median_step(&json!({ "step_ns": steps })).ok();
        assert_eq!(step(&[90, 80, 70, 5, 7]), Some(6.0), "three warm up");
        assert_eq!((step(&[90, 8]), step(&[])), (Some(8.0), None));
        let dots = line_of_runs("a", &[vec![4.0, 1.0, 3.0], vec![]]).dots;
        assert_eq!(dots, [Some(Dot { value: 3.0, low: 1.0, high: 4.0 }), None]);
    }
}
