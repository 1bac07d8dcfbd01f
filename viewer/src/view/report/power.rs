//! The section about how busy the machine was: the lanes over time, and time and energy by phase and layer.
use alloc_timeline::Dimension;
use maud::{Markup, PreEscaped, html};

use crate::analysis::{Usage, no_power, usage_by, whole_meters};
use crate::model::{Run, share, time};
use crate::view::lanes::lanes_svg;
use crate::view::report::elements::{bar, with_kind};
use crate::view::words::energy::joules;
use crate::view::words::names::name_in;

/// Rows of each table.
const MOST_ROWS: usize = 10;

/// The picture of the lanes; empty for a run that recorded none.
pub(super) fn lanes(run: &Run) -> Markup {
    html! {
        @if let Some(picture) = lanes_svg(run) {
            h3 { "Use of the machine over time" }
            figure.lanes { (PreEscaped(picture)) }
        }
    }
}

/// Time and energy by phase and layer, or why there are none.
pub(super) fn section(run: &Run) -> Markup {
    let timeline = &run.timeline;
    html! {
        h3 { "Time and energy" }
        @match no_power(timeline) {
            Some(why) => p { "Time and energy by phase and layer: " (why) "." },
            None => div.columns {
                @for dimension in [Dimension::Phase, Dimension::Layer] { div { (usage(run, dimension)) } }
            }
        }
        @if let Some(energy) = &timeline.energy {
            @for meter in &energy.meters {
                p.dim {
                    (meter.name) " (" (meter.kind) "): " (meter.energy_uj.map_or("unavailable".to_owned(), joules))
                    " in " (time(meter.covered_ns))
                    @if let Some(whole) = &meter.part_of { ", a part of " (whole) }
                }
            }
            @for reason in &energy.unavailable { p.dim { "energy: " (reason) } }
        }
    }
}

/// The names of one dimension that were active the longest, and the rest in one row.
fn usage(run: &Run, dimension: Dimension) -> Markup {
    let usages = usage_by(&run.timeline, dimension);
    let energy = run.timeline.energy.as_ref();
    let meters = energy.map(whole_meters).unwrap_or_default();
    let all = usages.iter().map(|usage| usage.active_ns).fold(0, u64::saturating_add);
    let most = usages.first().map_or(1, |usage| usage.active_ns);
    let rest = usages.get(MOST_ROWS..).unwrap_or_default();
    let cells = |active_ns: u64, process_cpu_ns: u64, of_meter: &dyn Fn(usize) -> u64| {
        html! {
            td { (time(active_ns)) } td { (share(active_ns, all)) }
            td { @if active_ns > 0 { (format!("{:.2}", process_cpu_ns as f64 / active_ns as f64)) } }
            @for &index in &meters { td { (joules(of_meter(index))) } }
            @if meters.is_empty() { td { "unavailable" } }
        }
    };
    html! {
        table.numbers.bars.timed {
            caption { "By " (dimension) }
            thead {
                tr {
                    th scope="col" { (dimension) } th scope="col" { "time" } th scope="col" { "share" } th scope="col" { "cores used" }
                    @for meter in energy.iter().flat_map(|energy| meters.iter().map(|&index| &energy.meters[index])) {
                        th scope="col" { (meter.name) }
                    }
                    @if meters.is_empty() { th scope="col" { "energy" } }
                    th.track scope="col" {}
                }
            }
            tbody {
                @for usage in usages.iter().take(MOST_ROWS) {
                    tr {
                        th scope="row" {
                            @if dimension == Dimension::Layer { (with_kind(run, &name_in(dimension, &usage.name), &usage.name)) }
                            @else { (name_in(dimension, &usage.name)) }
                        }
                        (cells(usage.active_ns, usage.process_cpu_ns, &|index| usage.by_meter_uj[index]))
                        (bar(0, usage.active_ns, most, "var(--bar)"))
                    }
                }
                @if !rest.is_empty() {
                    @let sum = |number: &dyn Fn(&Usage) -> u64| rest.iter().map(number).fold(0, u64::saturating_add);
                    tr.rest {
                        th scope="row" { "rest (" (rest.len()) ")" }
                        (cells(sum(&|usage| usage.active_ns), sum(&|usage| usage.process_cpu_ns), &|index| sum(&|usage| usage.by_meter_uj[index])))
                        td.track {}
                    }
                }
            }
        }
    }
}
