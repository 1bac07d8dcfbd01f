//! How the rows write numbers, claims and pictures.
use anyhow::Result;

use crate::chart::{self, Dot, Line, Scale, Titles};
use crate::reproduce::spec::{Claim, Figure, Holds, Table};

/// Threads of libtorch in all runs. With one, the bytes and the parts of a step do not depend on how many processors a machine
/// has, and on a busy machine no thread waits for another.
pub(super) const THREADS: &str = "--threads 1";
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
    format!("{:.1} %", 100.0 * part)
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

/// A picture of lines.
pub(super) fn lines(name: &str, titles: &Titles, scale: Scale, steps: &[String], lines: &[Line]) -> Result<Figure> {
    Ok(Figure { name: name.to_owned(), title: titles.title.clone(), svg: chart::lines(titles, scale, steps, lines)? })
}
