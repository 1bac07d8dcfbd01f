//! The section of one run.
use alloc_timeline::Dimension;
use anyhow::Result;
use maud::{Markup, PreEscaped, html};

use crate::model::{Run, exact, share, size};
use crate::view::flame::{Order, flame};
use crate::view::report::{fates, stacks, tables};
use crate::view::summary_text::{facts, losses};
use crate::view::timeline::timeline_svg;

/// A fact of more characters gets a line of its own.
const WIDE_FACT: usize = 64;

/// Everything about `run`.
pub(super) fn section(run: &Run, anchor: &str, dimension: Dimension, order: Order) -> Result<Markup> {
    let flame = flame(run, order)?;
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
            figure.picture { (PreEscaped(timeline_svg(run, dimension))) }
            h3 { "Who owns the peak" }
            p.dim {
                "Width is bytes live at the peak. Click a frame to enlarge it, the lowest one to go back; Ctrl-F searches."
            }
            (picture(&format!("Flamegraph of {}", run.title()), &flame))
            div.columns {
                @for dimension in [Dimension::Category, Dimension::Phase, Dimension::Op, Dimension::Layer] {
                    div { (tables::parts(run, dimension)) }
                }
            }
            h3 { "Largest owners" }
            (tables::owners(peak, run.scopes(), 15))
            h3 { "Does it add up?" }
            (tables::book(run))
            (tables::lanes(run))
            @if !run.timeline.steps.is_empty() { h3 { "Steps" } (tables::steps(run)) }
            @if !run.timeline.high_waters.is_empty() { h3 { "Each one's own peak" } (tables::high_waters(run)) }
            (stacks::section(run)?)
            (fates::section(run))
            h3 { "Alive at exit" }
            @let alive = run.timeline.at_exit.snapshot.live_bytes;
            p { (exact(alive)) " bytes (" (size(alive)) ") were still live when the session ended." }
            @if alive > 0 { (tables::owners(&run.timeline.at_exit.snapshot, run.scopes(), 10)) }
            h3 { "What the profiler itself cost" }
            (tables::tracker(run))
            h3 { "Lost or unavailable" }
            @let losses = losses(run);
            @if losses.is_empty() { p { "Nothing." } }
            @else { ul { @for loss in losses { li { (loss) } } } }
        }
    })
}

/// A flamegraph in a frame of its own.
pub(super) fn picture(title: &str, flame: &str) -> Markup {
    html! {
        figure.flame {
            iframe title=(title) sandbox="allow-scripts allow-modals"
                style={ "height:" (height_of(flame) + 4) "px" } srcdoc=(framed(flame)) {}
        }
    }
}

/// The flamegraph as a document of its own. Its script keeps the zoom in the address, which a frame without an
/// address of its own may not change: that is switched off. Its comments and its private vocabulary name web
/// addresses; nothing fetches them, but a page that needs no network should not name any.
fn framed(svg: &str) -> String {
    let svg = svg.find("<svg").map_or(svg, |start| &svg[start..]);
    let mut plain = String::with_capacity(svg.len());
    let mut rest = svg;
    while let Some((before, after)) = rest.split_once("<!--") {
        plain.push_str(before);
        rest = after.split_once("-->").map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    let plain = plain.replace(" xmlns:fg=\"http://github.com/jonhoo/inferno\"", "");
    let plain = plain.replace(" at https://github.com/jonhoo/inferno/", "");
    let lines = plain.lines().filter(|line| !line.trim_start().starts_with("//"));
    format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><style>body{{margin:0;background:#fff}}svg{{display:block;width:100%}}\
         </style><script>history.replaceState=function(){{}}</script>{}",
        lines.collect::<Vec<_>>().join("\n")
    )
}

/// The height that the picture asks for.
fn height_of(svg: &str) -> u32 {
    let after = svg.split_once(" height=\"").map_or("", |(_, rest)| rest);
    after.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(400)
}

#[cfg(test)]
mod tests {
    use super::{framed, height_of};

    #[test]
    fn the_frame_names_no_address() {
        let svg =
            "<?xml?><svg xmlns:fg=\"http://github.com/jonhoo/inferno\"><!-- http://a -->\n  // https://b\n<g/></svg>";
        assert!(framed(svg).ends_with("<svg>\n<g/></svg>") && !framed(svg).contains("http"));
    }

    #[test]
    fn the_height_is_read_from_the_picture() {
        assert_eq!(height_of("<svg width=\"1200\" height=\"326\" x=\"1\">"), 326);
        assert_eq!(height_of("<svg>"), 400);
    }
}
