//! Row 19: the account of a network's resident set, which the seed left open.
use anyhow::{Context, Result};

use super::loading;
use super::shared::{MIB, THREADS, claim, mib, percent, table, titles};
use crate::chart::{self, COLOURS, Part};
use crate::reproduce::results::{Depth, Results, list, number, text};
use crate::reproduce::spec::{FOLDER, Figure, Finding, Holds, Measurement, Row, Work};

pub(super) const ROW: Row = Row {
    number: 19,
    title: "Memory by layer under limits, and the account that did not close",
    seed: "003",
    published: "Loading a layer takes longer as the limit of memory falls. What the heap's dumps say, what the control group says and what \
                GNU time says do not agree, and the discrepancy is left open.",
    work: Work { measurements, finding },
};

/// An account is closed when no more than this part of the resident set is unexplained: what the project's own tests ask of the
/// account of a sample.
const CLOSED: f64 = 0.01;
/// Processes that are looked at: each has an account of its own.
const RUNS: u64 = 3;

fn measurements(depth: Depth) -> Vec<Measurement> {
    let steps = if depth == Depth::Quick { 3 } else { 10 };
    let timeline = format!("{FOLDER}/run.timeline.json");
    let run =
        format!("trainer infer --model alexnet --batch 1 --image-size 224 --steps {steps} {THREADS} --out {timeline}");
    let view = format!("viewer summary {timeline} --json");
    let of = |number: u64| Measurement {
        name: format!("run-{number}"),
        commands: vec![run.clone(), view.clone()],
        keep: &["reconcile", "rss"],
    };
    (1..=RUNS).map(of).chain(loading::measurements(depth)).collect()
}

/// The lines of an account with their bytes; the last is what is unexplained.
type Account<'a> = Vec<(&'a str, f64)>;

/// The resident set that an account adds up to.
fn resident(account: &Account<'_>) -> f64 {
    account.iter().map(|(_, bytes)| bytes).sum()
}

/// The part of the resident set that no line but the last explains.
fn unexplained(account: &Account<'_>) -> f64 {
    account.last().map_or(0.0, |(_, bytes)| bytes.abs()) / resident(account)
}

fn finding(results: &Results) -> Result<Finding> {
    let mut accounts: Vec<Account<'_>> = Vec::new();
    for (_, value) in results.beginning("run-") {
        let lines = list(value, "/reconcile")?.iter();
        accounts.push(lines.map(|line| Ok((text(line, "/name")?, number(line, "/bytes")?))).collect::<Result<_>>()?);
    }
    let first = accounts.first().context("no run ended")?;
    let parts: Vec<f64> = accounts.iter().map(unexplained).collect();
    let open: Vec<bool> = parts.iter().map(|part| *part > CLOSED).collect();
    let most = parts.iter().copied().fold(0.0, f64::max);
    let (loading, under_limits) = loading::finding(results)?;
    let claims = vec![
        claim(
            "ways to measure a process disagree, and nobody knows by what",
            "left open",
            format!("at most {} of the resident set is unexplained in {} runs", percent(most), accounts.len()),
            Holds::in_every(&open, "the account closes here: each part of the resident set has a name"),
        ),
        loading,
    ];
    let above: Vec<&(&str, f64)> = first.iter().filter(|(_, bytes)| *bytes > 0.0).collect();
    let names: Vec<String> = above.iter().map(|(name, _)| (*name).to_owned()).collect();
    let values = above.iter().map(|(_, bytes)| bytes / MIB).collect();
    let title = "AlexNet, inference: what the resident set consists of";
    let part = Part { name: "resident".to_owned(), colour: COLOURS[1], values };
    let svg = chart::rows(&titles(title, "MiB", ""), &names, &[part], &[])?;
    let heads: Vec<String> =
        ["line".to_owned()].into_iter().chain((1..=accounts.len()).map(|run| format!(">run {run}"))).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let rows = first.iter().map(|(name, _)| {
        let of = |account: &Account<'_>| {
            account.iter().find(|line| line.0 == *name).map_or("-".to_owned(), |line| mib(line.1))
        };
        [vec![(*name).to_owned()], accounts.iter().map(of).collect()].concat()
    });
    Ok(Finding {
        claims,
        number: format!("{} of the resident set is unexplained at most", percent(most)),
        figures: vec![Figure { name: "account".to_owned(), title: title.to_owned(), svg }],
        tables: vec![table("The account of the resident set near the peak", &heads, rows.collect()), under_limits],
        notes: vec![
            "The picture has the lines above zero of run 1. A negative line is memory that another line counts and that is not resident. \
             Under limits each run is a process of its own, in turns with all limits; the time to load is the time in which the layers' weights \
             are made, summed over the layers. Libraries are in the page cache already and are charged to nobody."
                .to_owned(),
        ],
    })
}
