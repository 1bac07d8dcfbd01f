//! The whole page: heading, overview, comparison, and a section about each run.
use alloc_timeline::Dimension;
use anyhow::Result;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::model::{Run, is_unfit_in_lines, size, time};
use crate::view::folded::FlameOrder;
use crate::view::palette::Colours;
use crate::view::report::elements::run_anchor;
use crate::view::report::{comparison, run};

const STYLE: &str = include_str!("style.css");

/// The page about `runs`. The timelines are split by `dimension`; the frames of the flamegraphs are in `order`.
///
/// # Errors
/// When a flamegraph cannot be drawn.
pub fn report(runs: &[Run], dimension: Dimension, order: FlameOrder) -> Result<String> {
    let colours = Colours::of(runs.iter().map(|run| &run.timeline));
    let sections: Vec<Markup> = runs
        .iter()
        .enumerate()
        .map(|(index, one)| run::section(one, &run_anchor(index), dimension, order, &colours))
        .collect::<Result<_>>()?;
    let title = match runs {
        [one] => format!("Memory of {}", one.title()),
        _ => format!("Memory of {} runs", runs.len()),
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (title) }
                    p.lead {
                        "Which layer, in which phase, through which operator owns the bytes at the peak, and whether that "
                        "adds up to what the operating system says."
                    }
                    (overview(runs))
                }
                main {
                    @if runs.len() > 1 { (comparison::section(runs, &colours)) }
                    @for section in &sections { (section) }
                }
                footer {
                    p {
                        "Live bytes are what the allocator set aside and nobody freed yet; requested bytes are what the "
                        "callers asked for. 1 MiB = 1,048,576 bytes. Written by viewer " (env!("CARGO_PKG_VERSION")) "."
                    }
                }
            }
        }
    };
    Ok(page.into_string().replace(is_unfit_in_lines, "\u{fffd}"))
}

/// A card for each run, with its peak and its resident set as bars on one common scale.
fn overview(runs: &[Run]) -> Markup {
    let most = runs.iter().map(|run| run.timeline.peak.live_bytes.max(run.rss_peak().unwrap_or(0))).max().unwrap_or(1);
    let width = |bytes: u64| format!("width:{:.2}%", bytes as f64 * 100.0 / most.max(1) as f64);
    html! {
        nav.cards aria-label="Runs" {
            @for (index, run) in runs.iter().enumerate() {
                a.card href={ "#" (run_anchor(index)) } {
                    span.name { (run.label) }
                    span.figure { (size(run.timeline.peak.live_bytes)) }
                    span.dim { "live at the peak, " (time(run.timeline.peak.time_ns)) }
                    span.bar { span style=(width(run.timeline.peak.live_bytes)) {} }
                    @match run.rss_peak() {
                        Some(rss) => {
                            span.dim { (size(rss)) " resident at most" }
                            span.bar.rss { span style=(width(rss)) {} }
                        }
                        None => span.dim { "resident set unavailable" }
                    }
                }
            }
        }
    }
}
