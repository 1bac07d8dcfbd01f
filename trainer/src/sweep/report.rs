//! Everything that a sweep writes when its runs are done: tables, pictures, the page, and a table for the terminal.
use anyhow::Result;
use serde_json::{Value, json};

use super::folder::Folder;
use super::page::Page;
use super::pictures::pictures;
use super::planned::Planned;
use super::point::{Point, varying};
use super::record::{Conditions, Record};
use super::statistics::{PointStatistics, by_point, differences, differences_csv, statistics_csv};
use super::table::{results_csv, results_parquet, steps_csv};
use crate::figures::{self, median, mib, milliseconds};

/// What a sweep says when all is written.
pub(super) struct Said {
    /// Whether any point has numbers.
    pub(super) numbers: bool,
    /// A table for the terminal.
    pub(super) table: String,
    /// Every run and the differences between points. The field names never change.
    pub(super) json: Value,
}

/// Writes all of it.
pub(super) fn write(
    folder: &Folder,
    title: &str,
    points: &[Planned],
    records: &[Record],
    conditions: &Conditions,
) -> Result<Said> {
    let points: Vec<Point> = points.iter().map(|planned| planned.point.clone()).collect();
    let mut sorted = records.to_vec();
    let place = |record: &Record| points.iter().position(|point| *point == record.point);
    sorted.sort_by_key(|record| (place(record), record.repeat));
    let statistics = by_point(&points, &sorted, conditions.seed);
    let differences = differences(&statistics);
    let pictures = pictures(&statistics)?;
    let page = Page {
        title,
        conditions,
        records: &sorted,
        points: &statistics,
        differences: &differences,
        pictures: &pictures,
    };
    folder.write("results.csv", &results_csv(&sorted)?)?;
    folder.write("results.parquet", &results_parquet(&sorted)?)?;
    folder.write("steps.csv", &steps_csv(&sorted)?)?;
    folder.write("statistics.csv", &statistics_csv(&statistics)?)?;
    folder.write("differences.csv", &differences_csv(&differences)?)?;
    for picture in &pictures {
        folder.write(&picture.name, picture.svg.as_bytes())?;
    }
    folder.write("index.html", page.html().as_bytes())?;
    Ok(Said {
        numbers: !statistics.is_empty(),
        table: format!("{}\nwrote {}", table(&statistics), folder.path().join("index.html").display()),
        json: json!({ "runs": sorted.iter().map(run).collect::<Vec<_>>(), "differences": differences }),
    })
}

/// A run without its conditions, which are those of all.
fn run(record: &Record) -> Value {
    let Record { point, repeat, outcome, reason, measured, .. } = record;
    json!({ "point": point, "repeat": repeat, "outcome": outcome, "reason": reason, "measured": measured })
}

/// A row for each point.
fn table(points: &[PointStatistics]) -> String {
    let axes = varying(points.iter().map(|of| &of.point));
    let rows = points.iter().map(|of| {
        vec![
            of.point.name(&axes),
            of.runs.to_string(),
            milliseconds(of.step_ns.median as u64),
            format!("{} .. {}", milliseconds(of.step_interval.low as u64), milliseconds(of.step_interval.high as u64)),
            format!("{:.1}", of.samples_per_second().median),
            of.peak_live_bytes.map_or("unknown".to_owned(), mib),
            of.peak_rss.map_or("unknown".to_owned(), |rss| mib(rss.median as u64)),
        ]
    });
    figures::table(&["point", ">runs", ">a step", ">95 % interval", ">samples/s", ">peak live", ">peak RSS"], rows)
}

/// What a run that ended says, in a line.
pub(super) fn line(record: &Record) -> String {
    let end = match &record.measured {
        Some(measured) => {
            let steady: Vec<u64> = measured.step_ns[measured.warm_up()..].to_vec();
            let live = measured.peak_live_bytes.map_or(String::new(), |bytes| format!(", peak live {}", mib(bytes)));
            format!("{} a step{live}", milliseconds(median(&steady)))
        }
        None => format!("{}: {}", record.outcome.as_str(), record.reason.as_deref().unwrap_or_default()),
    };
    format!("{}, run {}: {end}", record.point, record.repeat)
}
