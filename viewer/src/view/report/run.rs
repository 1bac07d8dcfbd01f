//! The section about one run.
use alloc_timeline::Dimension;
use anyhow::Result;
use maud::{Markup, PreEscaped, html};

use crate::model::{Run, exact, share, size};
use crate::view::cost::cost_svg;
use crate::view::flame::flamegraph;
use crate::view::folded::FlameOrder;
use crate::view::palette::Colours;
use crate::view::report::flame_frame::flame_frame;
use crate::view::report::{account, device, fates, power, stacks, tables, unread};
use crate::view::timeline::{rss_svg, timeline_svg};
use crate::view::words::facts::{NO_END, facts, losses};
use crate::view::words::time_columns::{TimeColumns, Times};
use crate::view::words::{child_process_sentences, near_limit_text, shared_memory_sentences};

/// A fact with more bytes than this gets a line of its own.
const WIDE_FACT: usize = 64;

/// The section about `run`. Other sections link to it by `anchor`.
pub(super) fn section(
    run: &Run,
    anchor: &str,
    dimension: Dimension,
    order: FlameOrder,
    colours: &Colours,
) -> Result<Markup> {
    let flame = flamegraph(run, order, colours)?;
    let peak = &run.timeline.peak;
    let unattributed = peak.unattributed_bytes(run.scopes());
    Ok(html! {
        section id=(anchor) {
            h2 { (run.title()) }
            p.dim { (run.path.file_name().unwrap_or_default().to_string_lossy()) }
            dl.facts {
                @for (name, value) in facts(run) { div.wide[value.len() > WIDE_FACT] { dt { (name) } dd { (value) } } }
                div { dt { "unattributed at the peak" } dd { (exact(unattributed)) " bytes, " (share(unattributed, peak.live_bytes)) } }
            }
            h3 { "Live bytes over time" }
            figure.picture { (PreEscaped(timeline_svg(run, dimension, colours))) }
            @if let Some(picture) = rss_svg(run, dimension, colours) {
                h3 { "Resident set over time" }
                figure.rss { (PreEscaped(picture)) }
                p.dim {
                    "Above zero: live bytes, and on top of them what else is resident. Below zero: pages that the allocator "
                    "claimed and nobody touched, of whichever owner. The line is the resident set: the stack less what lies "
                    "below zero."
                }
            }
            (power::lanes(run))
            h3 { "Who owns the peak" }
            p.dim {
                "Width is bytes live at the peak. Click a frame to enlarge it, the lowest one to go back; Ctrl-F searches."
            }
            (flame_frame(&format!("Flamegraph of {}", run.title()), &flame))
            @if let Some(meaning) = TimeColumns::new(&run.timeline, Times::Both).meaning() { p.dim { (meaning) "." } }
            div.columns {
                @for dimension in [Dimension::Category, Dimension::Phase, Dimension::Op, Dimension::Layer] {
                    div { (tables::parts(run, dimension, colours)) }
                }
            }
            @if let Some(picture) = cost_svg(run) {
                h3 { "Who costs memory, who costs time" }
                figure.cost { (PreEscaped(picture)) }
            }
            h3 { "Largest owners" }
            (tables::owners(run, peak, 15))
            h3 { "Does it add up?" }
            @for line in near_limit_text(&run.timeline).lines() { p.near { (line) } }
            (account::section(run))
            @for (heading, sentences) in [
                ("Child processes", child_process_sentences(&run.timeline)),
                ("Tensors in shared memory", shared_memory_sentences(run)),
            ] {
                @if !sentences.is_empty() { h4 { (heading) } }
                @for sentence in sentences { p { (sentence) } }
            }
            (tables::lanes(run))
            (device::section(run))
            (unread::section(run))
            (power::section(run))
            @if !run.timeline.steps.is_empty() { h3 { "Steps" } (tables::steps(run)) }
            @if !run.timeline.high_waters.is_empty() { h3 { "Each one's own peak" } (tables::high_waters(run)) }
            (stacks::section(run)?)
            (fates::section(run))
            h3 { "Alive at exit" }
            @match &run.timeline.at_exit {
                None => p { "What was live at exit is " (NO_END) "." },
                Some(at_exit) => {
                    @let alive = at_exit.snapshot.live_bytes;
                    p { (exact(alive)) " bytes (" (size(alive)) ") were still live when the session ended." }
                    @if alive > 0 { (tables::owners(run, &at_exit.snapshot, 10)) }
                }
            }
            h3 { "What the profiler itself cost" }
            (tables::tracker(run))
            h3 { "Lost or unavailable" }
            @let losses = losses(run);
            @if losses.is_empty() { p { "Nothing." } }
            @else { ul { @for loss in losses { li { (loss) } } } }
        }
    })
}
