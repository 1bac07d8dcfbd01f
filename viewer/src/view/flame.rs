//! The peak as a flamegraph: the width of a frame is its bytes, and a frame lies on the frame to which it belongs.
//!
//! ```text
//!  [activation]
//!  aten::conv2d        [gradient] ...
//!  layer1.0.conv1      ConvolutionBackward0
//!  layer1.0            layer1.0.conv1
//!  layer1              layer1
//!  forward             backward
//!  ------------------- all -----------------
//! ```
use alloc_timeline::{Dimension, NONE, Timeline};
use anyhow::{Context, Result};
use inferno::flamegraph::color::{BackgroundColor, BasicPalette, Color, PaletteMap};
use inferno::flamegraph::{Options, Palette, TextTruncateDirection, from_lines};

use crate::analysis::Measure;
use crate::model::{Run, exact, shortened, size, time};
use crate::view::flame_text::with_middles_left_out;
use crate::view::folded::{FlameOrder, folded_peak_with_paths, folded_stacks, frame_name, paths};
use crate::view::palette::{Colours, Rgb, category_colour};
use crate::view::svg::{LONGEST_TITLE, Svg};

/// The owners of a run's peak as a flamegraph: an SVG with a script for zooming and searching.
///
/// # Errors
/// When the library that draws flamegraphs refuses the folded lines.
pub fn flamegraph(run: &Run, order: FlameOrder, colours: &Colours) -> Result<String> {
    let timeline = &run.timeline;
    let lines = folded_peak_with_paths(timeline, order);
    if lines.is_empty() {
        let mut svg = Svg::new(1200.0, 80.0, "Nothing was live at the peak", "");
        svg.text(20.0, 45.0, "font-size=\"14\" fill=\"#59636e\"", "Nothing was live at the peak of this run.");
        return Ok(svg.finish());
    }
    let mut palette = palette(timeline, colours);
    let mut options = Options::default();
    options.title = format!("{}: peak {}", title(run), size(timeline.peak.live_bytes));
    let order = order.dimensions().map(Dimension::name).join(", then ");
    options.subtitle =
        Some(format!("width = bytes live at the peak, {}; {order}, then category", time(timeline.peak.time_ns)));
    options.palette_map = Some(&mut palette);
    draw(options, &lines, run)
}

/// The sampled stacks of a run's peak as a flamegraph; `None` for a run without stacks.
///
/// # Errors
/// When the library that draws flamegraphs refuses the folded lines.
pub fn stacks_flamegraph(run: &Run) -> Result<Option<String>> {
    let lines = folded_stacks(run, Measure::Peak);
    let Some(stacks) = run.timeline.stacks.as_ref().filter(|_| !lines.is_empty()) else { return Ok(None) };
    let mut options = Options::default();
    options.title = format!("{}: who held the peak, by stack", title(run));
    let (samples, mean) = (exact(stacks.samples.taken), size(stacks.mean_bytes));
    options.subtitle = Some(format!("width = bytes live at the peak, estimated from {samples} samples, one in {mean}"));
    options.colors = Palette::Basic(BasicPalette::Aqua);
    options.hash = true;
    draw(options, &lines, run).map(Some)
}

/// What ran, as far as the picture has room for it.
fn title(run: &Run) -> String {
    shortened(&run.title(), LONGEST_TITLE)
}

/// Draws folded lines; both flamegraphs have these options in common.
fn draw(mut options: Options<'_>, lines: &[String], run: &Run) -> Result<String> {
    options.count_name = "bytes".to_owned();
    options.name_type = "Owner:".to_owned();
    options.font_type = "sans-serif".to_owned();
    options.frame_height = 19;
    // Programs without scripts show the picture in whatever font they have; this is that of a wide one.
    options.font_width = 0.65;
    options.text_truncate_direction = TextTruncateDirection::Right;
    options.bgcolors = Some(BackgroundColor::Flat(Color { r: 255, g: 255, b: 255 }));
    options.deterministic = true;
    let mut svg = Vec::new();
    from_lines(&mut options, lines.iter().map(String::as_str), &mut svg)
        .with_context(|| format!("{}: the flamegraph cannot be drawn", run.path.display()))?;
    let svg = String::from_utf8(svg).context("the flamegraph is not text")?;
    Ok(with_middles_left_out(&svg))
}

/// The colours of the frames. Phases and categories have the same colours as in the timeline. Layers are sandy and operators
/// bluish, each name in a shade of its own.
fn palette(timeline: &Timeline, colours: &Colours) -> PaletteMap {
    let mut palette = PaletteMap::default();
    let mut set = |name: String, Rgb(r, g, b): Rgb| {
        palette.insert(name, Color { r, g, b });
    };
    for scope in &timeline.scopes {
        for path in paths(&scope.layer).map(frame_name) {
            let shade = shade(&path);
            set(path, Rgb(250 - shade / 2, 222 - shade, 176 - shade));
        }
        let op = frame_name(&scope.op);
        let shade = shade(&op);
        set(op, Rgb(196 - shade, 214 - shade, 240 - shade / 2));
    }
    for scope in &timeline.scopes {
        set(frame_name(&scope.phase), pale(colours.colour(Dimension::Phase, &scope.phase, 0)));
    }
    for category in alloc_timeline::Category::ALL {
        set(format!("[{category}]"), pale(category_colour(category.name())));
    }
    set(NONE.to_owned(), Rgb(222, 225, 229));
    // The root frame is called `all` in the picture and has an empty name in the library.
    set("all".to_owned(), Rgb(222, 225, 229));
    set(String::new(), Rgb(222, 225, 229));
    palette
}

/// A number from 0 to 39 that is always the same for a name.
fn shade(name: &str) -> u8 {
    (name.bytes().fold(7u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte))) % 40) as u8
}

/// The colour mixed with white, so that black text is readable on it.
fn pale(Rgb(r, g, b): Rgb) -> Rgb {
    let lighter = |part: u8| (255 - (255 - u16::from(part)) * 2 / 3) as u8;
    Rgb(lighter(r), lighter(g), lighter(b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;

    #[test]
    fn a_run_without_bytes_gets_a_picture_that_says_so() {
        let mut timeline = tiny();
        timeline.peak = Default::default();
        let svg = flamegraph(&Run::new("x", timeline), FlameOrder::default(), &Colours::of([])).unwrap();
        assert!(svg.contains("Nothing was live"));
    }

    #[test]
    fn the_picture_is_the_same_every_time() {
        let run = Run::new("x", tiny());
        let svg = flamegraph(&run, FlameOrder::default(), &Colours::of([])).unwrap();
        assert_eq!(svg, flamegraph(&run, FlameOrder::default(), &Colours::of([])).unwrap());
        assert!(svg.contains("lenet, train, batch 8, 28x28: peak 15.6 KiB"));
    }
}
