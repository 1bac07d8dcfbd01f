//! `index.html`: the pictures, what differs, and every point with its numbers. It needs nothing but the files beside it.
use std::collections::BTreeSet;

use maud::{DOCTYPE, Markup, html};

use super::pictures::Picture;
use super::point::varying;
use super::record::{Conditions, Outcome, Record, others};
use super::statistics::{Difference, PointStatistics};
use crate::figures::mib;

const STYLE: &str = "
body { font: 15px/1.5 system-ui, sans-serif; color: #222; max-width: 1240px; margin: 2em auto; padding: 0 1em }
h1 { font-size: 24px } h2 { font-size: 19px; margin-top: 2em }
img { display: block; width: 100%; max-width: 1000px; height: auto; margin: .6em 0 }
table { border-collapse: collapse; font-size: 13px; margin: .6em 0 }
th, td { padding: 2px 10px 2px 0; text-align: left; border-bottom: 1px solid #ddd }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap } .wide { overflow-x: auto }
p.small { color: #555; font-size: 13px }
";

/// Milliseconds with three or four digits that count: what lies behind them is noise.
fn ms(ns: f64) -> String {
    let ms = ns / 1e6;
    let decimals = if ms < 10.0 {
        3
    } else if ms < 100.0 {
        2
    } else {
        1
    };
    format!("{ms:.decimals$}")
}

/// Everything that the page shows.
pub(super) struct Page<'a> {
    pub(super) title: &'a str,
    pub(super) conditions: &'a Conditions,
    pub(super) records: &'a [Record],
    pub(super) points: &'a [PointStatistics],
    pub(super) differences: &'a [Difference],
    pub(super) pictures: &'a [Picture],
}

impl Page<'_> {
    /// The page as HTML.
    pub(super) fn html(&self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    title { (self.title) }
                    style { (maud::PreEscaped(STYLE)) }
                }
                body {
                    h1 { (self.title) }
                    (self.conditions())
                    @for picture in self.pictures {
                        img src=(picture.name) alt=(picture.title);
                    }
                    (self.points())
                    (self.differences())
                    (self.others())
                }
            }
        };
        page.into_string()
    }

    fn conditions(&self) -> Markup {
        let Conditions { steps, seed, commit, cpu, cpus, memory_bytes, kernel, .. } = self.conditions;
        let data: BTreeSet<&str> = self.records.iter().map(|record| record.conditions.data.as_str()).collect();
        let data: Vec<&str> = data.into_iter().collect();
        let done = self.records.iter().filter(|record| record.outcome == Outcome::Done).count();
        html! {
            p {
                (self.points.len()) " point(s), " (done) " run(s) with numbers, each in a process of its own: " (steps)
                " steps, seed " (seed) ", data " (data.join(", ")) ". The first three steps of a run warm up; "
                "no statistic counts them."
            }
            p.small {
                (cpu.as_deref().unwrap_or("processor unknown")) ", " (cpus) " processor(s)"
                @if let Some(bytes) = memory_bytes { ", " (mib(*bytes)) " of memory" }
                @if let Some(kernel) = kernel { ", Linux " (kernel) }
                @if let Some(commit) = commit { ", commit " (commit) }
                ". Bars and intervals are where the median lies with 95 % (bootstrap over runs, then steps)."
            }
            @for other in others(self.records, self.conditions) {
                p.small { "There are runs of " (other) " among them." }
            }
        }
    }

    fn points(&self) -> Markup {
        let axes = varying(self.points.iter().map(|of| &of.point));
        let heads = [
            "runs",
            "min",
            "q1",
            "median",
            "95 % interval",
            "q3",
            "p90",
            "max",
            "mean",
            "sd",
            "samples/s",
            "peak live",
            "peak RSS",
        ];
        html! {
            h2 { "Points" }
            p.small { "Times of a step in ms. Tables for programs: results.csv and results.parquet (a row for each run), "
                "steps.csv, statistics.csv, differences.csv." }
            div.wide { table {
                tr { th { "point" } @for head in heads { th.n { (head) } } }
                @for of in self.points {
                    tr {
                        td { (of.point.name(&axes)) }
                        td.n { (of.runs) }
                        @let step = &of.step_ns;
                        @for number in [step.min, step.q1, step.median] { td.n { (ms(number)) } }
                        td.n { (ms(of.step_interval.low)) " .. " (ms(of.step_interval.high)) }
                        @for number in [step.q3, step.p90, step.max, step.mean] { td.n { (ms(number)) } }
                        td.n { (step.sd.map_or("unknown".to_owned(), ms)) }
                        td.n { (format!("{:.1}", of.samples_per_second().median)) }
                        td.n { (of.peak_live_bytes.map_or("unknown".to_owned(), mib)) }
                        td.n { (of.peak_rss.map_or("unknown".to_owned(), |rss| mib(rss.median as u64))) }
                    }
                }
            } }
        }
    }

    fn differences(&self) -> Markup {
        let known: Vec<&Difference> = self.differences.iter().filter(|difference| difference.known).collect();
        let unknown = self.differences.len() - known.len();
        html! {
            h2 { "Differences" }
            p {
                "A difference between two points that differ in one setting is claimed only when both ran three times or "
                "more and the intervals of their medians do not overlap. "
                @if self.differences.is_empty() { "No two points differ in one setting alone." }
                @else { (known.len()) " claimed, " (unknown) " not known; all of them are in differences.csv." }
            }
            @if !known.is_empty() {
                div.wide { table {
                    tr { th { "setting" } th { "from" } th { "to" } th { "of" } th { "quantity" } th.n { "times" } }
                    @for difference in known {
                        tr {
                            td { (difference.axis) } td { (difference.base) } td { (difference.other) }
                            td { (difference.of) } td { (difference.quantity) }
                            td.n { (format!("{:.3}", difference.ratio)) }
                        }
                    }
                } }
            }
        }
    }

    /// The points without numbers, each with its reason.
    fn others(&self) -> Markup {
        let others = || self.records.iter().filter(|record| record.outcome != Outcome::Done);
        html! {
            @if others().next().is_some() {
                h2 { "Without numbers" }
                table {
                    tr { th { "point" } th { "outcome" } th { "reason" } }
                    @for record in others() {
                        tr {
                            td { (record.point) } td { (record.outcome.as_str()) }
                            td { (record.reason.as_deref().unwrap_or_default()) }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::{pictures, point, record, statistics};

    #[test]
    fn times_have_the_digits_that_count() {
        assert_eq!([1_234_567.0, 12_345_678.0, 1_234_567_891.0].map(ms), ["1.235", "12.35", "1234.6"]);
    }

    #[test]
    fn everything_stands_on_the_page_and_nothing_comes_from_elsewhere() {
        let points = [point::example("lenet5", 1), point::example("lenet5", 4)];
        let mut records: Vec<Record> = points
            .iter()
            .flat_map(|point| (1..=3).map(|run| record::example(point.clone(), run, &[9, 9, 9, 1_000_000, 1_000_000])))
            .collect();
        let failed = Record {
            outcome: Outcome::Failed,
            reason: Some("a <b> & c".to_owned()),
            measured: None,
            ..record::example(point::example("resnet18", 1), 1, &[])
        };
        records.push(failed);
        let statistics = statistics::by_point(&points, &records, 1);
        let page = Page {
            title: "A sweep",
            conditions: &records[0].conditions,
            records: &records,
            points: &statistics,
            differences: &statistics::differences(&statistics),
            pictures: &pictures::pictures(&statistics).expect("drawn"),
        };
        let html = page.html();
        for text in ["src=\"step-time.svg\"", "batch 4", "a &lt;b&gt; &amp; c", "95 % interval", "0.250"] {
            assert!(html.contains(text), "{text} is missing in {html}");
        }
        assert!(!html.contains("http"), "{html}");
    }
}
