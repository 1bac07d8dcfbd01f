//! The peak as a flamegraph: width is bytes, and a frame lies on what it belongs to.
//!
//! ```text
//!  [activation]
//!  aten::conv2d        [gradient] ...
//!  conv1               ConvolutionBackward0
//!  layer1.0 -> 0       conv1
//!  layer1              layer1
//!  forward             backward
//!  ------------------- all -----------------
//! ```
//!
//! A part that a scope does not have is one frame `(none)`; several in a row are one frame as well.
use std::collections::BTreeMap;
use std::str::FromStr;

use alloc_timeline::{Dimension, NONE, Scope, Timeline};
use anyhow::{Context, Result};
use inferno::flamegraph::color::{BackgroundColor, BasicPalette, Color, PaletteMap};
use inferno::flamegraph::{Options, Palette, TextTruncateDirection, from_lines};

use crate::analysis::Measure;
use crate::model::{Run, exact, size, time};
use crate::view::palette::{Rgb, colour};
use crate::view::stacks_text::folded_stacks;
use crate::view::svg::Svg;

/// In which order phase, layer and operator lie on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order([Dimension; 3]);

impl Default for Order {
    fn default() -> Self {
        Order([Dimension::Phase, Dimension::Layer, Dimension::Op])
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("'{text}' is not an order of phase, layer and op: write for example layer,phase,op");
        let of =
            |name: &str| [Dimension::Phase, Dimension::Layer, Dimension::Op].into_iter().find(|d| d.name() == name);
        let order: Vec<Dimension> =
            text.split(',').map(|name| of(name.trim())).collect::<Option<_>>().ok_or_else(wrong)?;
        let order: [Dimension; 3] = order.try_into().map_err(|_| wrong())?;
        let repeated = order[0] == order[1] || order[1] == order[2] || order[0] == order[2];
        if repeated { Err(wrong()) } else { Ok(Order(order)) }
    }
}

/// The peak as folded stacks, one `frame;frame;frame bytes` a line, sorted; the bytes sum to the peak's live bytes.
pub fn folded(timeline: &Timeline, order: Order) -> Vec<String> {
    let nobody = Scope::default();
    let mut stacks: BTreeMap<String, u64> = BTreeMap::new();
    for row in timeline.peak.rows.iter().filter(|row| row.usable_bytes > 0) {
        let scope = timeline.scopes.get(row.scope as usize).unwrap_or(&nobody);
        let mut frames: Vec<String> = Vec::new();
        for dimension in order.0 {
            let name = dimension.of(scope, row.category);
            match dimension {
                Dimension::Layer if name != NONE => frames.extend(name.split('.').map(frame)),
                _ => frames.push(frame(name)),
            }
        }
        frames.dedup_by(|a, b| a == b && a == NONE);
        frames.push(format!("[{}]", row.category));
        *stacks.entry(frames.join(";")).or_default() += row.usable_bytes;
    }
    stacks.into_iter().map(|(stack, bytes)| format!("{stack} {bytes}")).collect()
}

/// A name as a frame: `;` would end it, a control character would break the line, and `#` at the start is a comment.
pub(crate) fn frame(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| {
            if c == ';' {
                ':'
            } else if c.is_control() {
                '\u{fffd}'
            } else {
                c
            }
        })
        .collect();
    let name = name.trim();
    match name.strip_prefix('#') {
        _ if name.is_empty() => "?".to_owned(),
        Some(rest) => format!("\u{2116}{rest}"),
        None => name.to_owned(),
    }
}

/// The flamegraph of a run's peak, as SVG with its own script for zooming and searching.
pub fn flame(run: &Run, order: Order) -> Result<String> {
    let timeline = &run.timeline;
    let lines = folded(timeline, order);
    if lines.is_empty() {
        let mut svg = Svg::new(1200.0, 80.0, "Nothing was live at the peak", "");
        svg.text(20.0, 45.0, "font-size=\"14\" fill=\"#59636e\"", "Nothing was live at the peak of this run.");
        return Ok(svg.finish());
    }
    let mut palette = palette(timeline);
    let mut options = Options::default();
    options.title = format!("{}: peak {}", run.title(), size(timeline.peak.live_bytes));
    let order = order.0.map(Dimension::name).join(", then ");
    options.subtitle =
        Some(format!("width = bytes live at the peak, {}; {order}, then category", time(timeline.peak.time_ns)));
    options.palette_map = Some(&mut palette);
    draw(options, &lines, run)
}

/// The stacks of a run's peak in the same way; `None` where there are none.
pub fn stacks_flame(run: &Run) -> Result<Option<String>> {
    let lines = folded_stacks(run, Measure::Peak);
    let Some(stacks) = run.timeline.stacks.as_ref().filter(|_| !lines.is_empty()) else { return Ok(None) };
    let mut options = Options::default();
    options.title = format!("{}: who held the peak, by stack", run.title());
    let (samples, mean) = (exact(stacks.samples.taken), size(stacks.mean_bytes));
    options.subtitle = Some(format!("width = bytes live at the peak, estimated from {samples} samples, one in {mean}"));
    options.colors = Palette::Basic(BasicPalette::Aqua);
    options.hash = true;
    draw(options, &lines, run).map(Some)
}

fn draw(mut options: Options<'_>, lines: &[String], run: &Run) -> Result<String> {
    options.count_name = "bytes".to_owned();
    options.name_type = "Owner:".to_owned();
    options.font_type = "sans-serif".to_owned();
    options.frame_height = 19;
    options.text_truncate_direction = TextTruncateDirection::Right;
    options.bgcolors = Some(BackgroundColor::Flat(Color { r: 255, g: 255, b: 255 }));
    options.deterministic = true;
    let mut svg = Vec::new();
    from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)
        .with_context(|| format!("{}: the flamegraph cannot be drawn", run.path.display()))?;
    String::from_utf8(svg).context("the flamegraph is not text")
}

/// Frames in the colours that the timeline uses for phases and categories; layers sandy, operators bluish, each in a
/// shade of its own.
fn palette(timeline: &Timeline) -> PaletteMap {
    let mut palette = PaletteMap::default();
    let mut set = |name: String, Rgb(r, g, b): Rgb| {
        palette.insert(name, Color { r, g, b });
    };
    for scope in &timeline.scopes {
        for part in scope.layer.split('.').map(frame) {
            let shade = shade(&part);
            set(part, Rgb(250 - shade / 2, 222 - shade, 176 - shade));
        }
        let op = frame(&scope.op);
        let shade = shade(&op);
        set(op, Rgb(196 - shade, 214 - shade, 240 - shade / 2));
    }
    for (rank, scope) in timeline.scopes.iter().enumerate() {
        set(frame(&scope.phase), pale(colour(Dimension::Phase, &scope.phase, rank)));
    }
    for category in alloc_timeline::Category::ALL {
        set(format!("[{category}]"), pale(colour(Dimension::Category, category.name(), 0)));
    }
    set(NONE.to_owned(), Rgb(222, 225, 229));
    // The root, under the name that the picture gives it and under the one that it has inside.
    set("all".to_owned(), Rgb(222, 225, 229));
    set(String::new(), Rgb(222, 225, 229));
    palette
}

/// From 0 to 39, the same for a name every time.
fn shade(name: &str) -> u8 {
    (name.bytes().fold(7u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte))) % 40) as u8
}

/// Halfway to white, so that black text stands out on it.
fn pale(Rgb(r, g, b): Rgb) -> Rgb {
    let half = |part: u8| (255 - (255 - u16::from(part)) * 2 / 3) as u8;
    Rgb(half(r), half(g), half(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;

    #[test]
    fn stacks_sum_to_the_peak_and_split_layers_at_dots() {
        let lines = folded(&tiny(), Order::default());
        assert_eq!(
            lines,
            [
                "(none);[other] 128",
                "(none);[runtime] 512",
                "backward;conv1;ConvolutionBackward0;[gradient] 1024",
                "forward;conv1;aten::conv2d;[activation] 8192",
                "forward;layer1;0;bn1;aten::batch_norm;[activation] 2048",
                "init;conv1;aten::empty;[parameter] 4096",
            ]
        );
    }

    #[test]
    fn the_order_can_be_turned() {
        let lines = folded(&tiny(), "layer,phase,op".parse().unwrap());
        assert!(lines.contains(&"conv1;forward;aten::conv2d;[activation] 8192".to_owned()), "{lines:?}");
        for wrong in ["layer", "layer,layer,op", "phase,layer,category", ""] {
            assert!(wrong.parse::<Order>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_cannot_break_a_stack() {
        assert_eq!(frame("a;b"), "a:b");
        assert_eq!(frame("# x"), "\u{2116} x");
        assert_eq!(frame(" \n"), "\u{fffd}");
        assert_eq!(frame(""), "?");
    }

    #[test]
    fn a_run_without_bytes_gets_a_picture_that_says_so() {
        let mut timeline = tiny();
        timeline.peak = Default::default();
        let svg = flame(&Run::new("x".into(), timeline), Order::default()).unwrap();
        assert!(svg.contains("Nothing was live"));
    }

    #[test]
    fn the_picture_is_the_same_every_time() {
        let run = Run::new("x".into(), tiny());
        let svg = flame(&run, Order::default()).unwrap();
        assert_eq!(svg, flame(&run, Order::default()).unwrap());
        assert!(svg.contains("lenet, train, batch 8, 28x28: peak 15.6 KiB"));
    }
}
