//! Row 19: a network under limits of memory, and the account of its resident set.
use anyhow::{Context, Result};
use serde_json::Value;

use super::shared::{claim, line, lines, mib, ms, percent, table, titles};
use crate::chart::Scale;
use crate::reproduce::results::{Depth, Results, list, number, text};
use crate::reproduce::spec::{FOLDER, Finding, Holds, Measurement, Reads, Row, Work};

pub(super) const ROW: Row = Row {
    number: 19,
    title: "Memory by layer under limits, and the account that did not close",
    seed: "003",
    published: "Loading a layer takes longer as the limit of memory falls; executing it does not. What the heap's dumps say and what the \
                control group says do not agree, and the discrepancy is left open.",
    work: Some(Work { measurements, finding }),
};

/// An account is closed when so little of the resident set is unexplained.
const CLOSED: f64 = 0.02;

fn measurements(depth: Depth) -> Vec<Measurement> {
    let (limits, steps) = if depth == Depth::Quick { ("none,1G,512M", 3) } else { ("none,1G,768M,512M,448M,384M", 10) };
    let timeline = format!("{FOLDER}/run.timeline.json");
    let run = format!("infer --model alexnet --batch 1 --image-size 224 --steps {steps}");
    let limited =
        format!("trainer run-limited --memory {limits} --json --out {FOLDER}/limits -- trainer {run} --out {timeline}");
    vec![
        Measurement { reads: Reads::Json(&["rows"]), ..Measurement::json("limits", limited) },
        Measurement::viewed("account", &run, &["summary"], &["reconcile", "rss", "peak"]),
    ]
}

/// Time to make all weights, and of all forward passes, under one limit; `None` where the run was killed.
fn times(row: &Value) -> Option<(f64, f64)> {
    if row["broke"] == true {
        return None;
    }
    let layers = row.pointer("/run/layers")?.as_object()?;
    let sum = |of: &str| layers.values().filter_map(|layer| layer[of].as_f64()).sum::<f64>();
    Some((sum("init_ns"), sum("forward_ns")))
}

fn finding(results: &Results) -> Result<Finding> {
    let under = list(results.of("limits")?, "/rows")?;
    let name = |row: &Value| row["limit_bytes"].as_f64().map_or("none".to_owned(), mib);
    let known: Vec<(String, (f64, f64))> = under.iter().filter_map(|row| Some((name(row), times(row)?))).collect();
    let (free, tight) = known.first().zip(known.last()).context("no run ended")?;
    let (loading, executing) = (tight.1.0 / free.1.0, tight.1.1 / free.1.1);
    let account = results.of("account")?;
    let lines_of_book = list(account, "/reconcile")?;
    let mut sum = 0.0;
    let mut unexplained = 0.0;
    let mut book = Vec::new();
    for one in lines_of_book {
        let bytes = number(one, "/bytes")?;
        sum += bytes;
        unexplained = bytes;
        book.push(vec![text(one, "/name")?.to_owned(), mib(bytes)]);
    }
    let open = unexplained.abs() / sum;
    let claims = vec![
        claim(
            "making a network's weights takes longer as the limit falls",
            "longer",
            format!("{loading:.2} times as long under {} as without", tight.0),
            Holds::if_so(
                loading > 1.1,
                "weights are made here and not read from files, and a run without swap is killed before it is slowed",
            ),
        ),
        claim(
            "executing layers does not",
            "as long",
            format!("{executing:.2} times as long"),
            Holds::if_so((0.8..1.25).contains(&executing), "executing layers takes another time under the limit"),
        ),
        claim(
            "heap and resident set are reconciled",
            "left open",
            format!("{} of {} unexplained: {}", mib(unexplained), mib(sum), percent(open)),
            Holds::if_so(open < CLOSED, "too much of the resident set is unexplained"),
        ),
    ];
    let rows = under.iter().map(|row| {
        let cell = |of: Option<f64>| of.map_or("-".to_owned(), ms);
        let times = times(row);
        let ended = if row["broke"] == true { "killed" } else { "finished" };
        vec![name(row), ended.to_owned(), cell(times.map(|of| of.0)), cell(times.map(|of| of.1))]
    });
    let steps: Vec<String> = known.iter().map(|(name, _)| name.clone()).collect();
    let of = |name: &str, value: fn(&(f64, f64)) -> f64| {
        line(name, &known.iter().map(|(_, times)| Some(value(times) / 1e6)).collect::<Vec<_>>())
    };
    let drawn = [of("making the weights", |times| times.0), of("forward passes", |times| times.1)];
    let titles = titles("AlexNet under limits of memory", "limit", "ms");
    Ok(Finding {
        claims,
        number: format!("{} of the resident set is unexplained", percent(open)),
        figures: vec![lines("limits", &titles, Scale::Fitting, &steps, &drawn)?],
        tables: vec![
            table("Under limits", &["limit", "ended", ">making the weights", ">all forward passes"], rows.collect()),
            table("The account of the resident set near the peak", &["line", ">bytes"], book),
        ],
        notes: Vec::new(),
    })
}
