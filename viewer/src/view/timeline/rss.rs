//! The resident set over time: live bytes as in the timeline, the other lines of the coarse books on top of them, and the
//! bytes that are claimed but not resident below zero.
//!
//! Nobody knows which owner's pages were never touched. So they are taken from no band: they lie below zero, and the line of
//! the resident set lies below the top of the stack by as much.
use alloc_timeline::Dimension;

use crate::analysis::{Band, RssStack, rss_stack};
use crate::model::{Run, kind_of, share, size, time};
use crate::view::ink::{AXIS, DIM, INK, RSS, STYLE};
use crate::view::palette::{Colours, Rgb, memory_colour};
use crate::view::scale::Scale;
use crate::view::svg::{Coordinate, Svg};
use crate::view::timeline::layout::{HEIGHT, LEFT, PLOT_WIDTH, PlotArea, TOP, WIDTH};
use crate::view::timeline::{axes, bands, labels};
use crate::view::words::names::name_in;

/// Number of columns into which the instants are gathered before they are drawn.
const COLUMNS: usize = 420;
/// Number of bands of live bytes without the rest: with the lines of a book, the legend has no room for more.
const MOST_BANDS: usize = 5;

/// The picture, with live bytes split by `dimension`; `None` for a run whose samples have no coarse books.
pub fn rss_svg(run: &Run, dimension: Dimension, colours: &Colours) -> Option<String> {
    let timeline = &run.timeline;
    let whole = rss_stack(timeline, dimension, MOST_BANDS)?;
    let thin = whole.thinned(COLUMNS);
    let highest = thin.curve.total.iter().copied().max().unwrap_or(0);
    let deepest = (0..thin.curve.time_ns.len()).map(|index| below_zero(&thin, index)).max().unwrap_or(0);
    let scale = Scale::bytes(highest.saturating_add(highest / 16), 9);
    let depth = scale.at(deepest);
    let area = PlotArea { end_ns: timeline.duration_ns.max(whole.curve.span().1), below: depth / (1.0 + depth), scale };
    let mut svg = Svg::new(WIDTH, HEIGHT, &format!("Resident set over time: {}", run.title()), STYLE);
    svg.element("rect", format_args!("class=\"tl-bg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\""));
    let rss = whole.curve.rss.iter().map(|point| point.1).max().unwrap_or(0);
    let below = if deepest > 0 { "; the line is the stack less what lies below zero" } else { "" };
    let line = format!(
        "Resident set, at most {}: live bytes by {dimension}, and what is resident beyond them{below}",
        size(rss)
    );
    svg.heading(LEFT, &run.title(), &line);
    axes::grid(&mut svg, &area);
    let order = thin.curve.stacking_order();
    let live = order.into_iter().filter(|&index| index < thin.live);
    let coloured = |index: usize| {
        let band = &thin.curve.bands[index];
        (band, fill(&thin, index, colours), tip(band))
    };
    bands::pile(&mut svg, &area, &thin.curve.time_ns, live.chain(thin.live..thin.above).map(coloured), PlotArea::y);
    let below = (thin.above..thin.curve.bands.len()).map(coloured);
    bands::pile(&mut svg, &area, &thin.curve.time_ns, below, PlotArea::y_below);
    if deepest > 0 {
        let zero = Coordinate(area.y(0));
        svg.element("path", format_args!("{AXIS} d=\"M{LEFT} {zero}H{}\"", LEFT + PLOT_WIDTH));
    }
    axes::steps(&mut svg, &area, run);
    bands::rss_line(&mut svg, &area, &thin.curve);
    bands::tips(&mut svg, &area, &whole.curve, |index| format!("{} resident", size(whole.curve.rss[index].1)));
    axes::marks(&mut svg, &area, run);
    axes::growing_phases_strip(&mut svg, &area, run, colours);
    legend(&mut svg, &thin, colours);
    Some(svg.finish())
}

/// The bytes below zero at one instant.
fn below_zero(stack: &RssStack, index: usize) -> u64 {
    stack.curve.bands[stack.above..].iter().fold(0, |sum, band| sum.saturating_add(band.bytes[index]))
}

fn fill(stack: &RssStack, index: usize, colours: &Colours) -> Rgb {
    let name = &stack.curve.bands[index].name;
    if index < stack.live { colours.colour(stack.curve.dimension, name, index) } else { memory_colour(kind_of(name)) }
}

fn tip(band: &Band) -> String {
    format!("{}: {} at the most live bytes", band.name, size(band.at_peak))
}

/// The bands, in the order in which they lie on each other, with their bytes at the sample with the most
/// live bytes.
fn legend(svg: &mut Svg, stack: &RssStack, colours: &Colours) {
    let x = LEFT + PLOT_WIDTH + 22.0;
    let (dim, ink) = (format!("{DIM} font-size=\"12\""), format!("{INK} font-size=\"12\""));
    let (time_ns, rss) = stack.at;
    let mut y = TOP - 22.0;
    svg.text(x, y, &dim, &format!("at the most live bytes, {}", time(time_ns)));
    y += labels::LEGEND_LINE;
    svg.element("path", format_args!("{RSS} stroke-width=\"2\" d=\"M{x} {}h13\"", Coordinate(y - 4.0)));
    svg.text(x + 20.0, y, &ink, "resident set (RSS)");
    svg.text(x + 20.0, y + 14.0, &dim, &size(rss));
    let live = stack.curve.stacking_order().into_iter().filter(|&index| index < stack.live);
    let from_below: Vec<usize> = live.chain(stack.live..stack.above).collect();
    let bands = &stack.curve.bands;
    let elsewhere = |name: &str| bands[stack.live..].iter().any(|band| band.name == name && band.at_peak > 0);
    for index in from_below.into_iter().rev().chain(stack.above..bands.len()) {
        let band = &bands[index];
        // A line that lies now above zero and now below it stands where it is at this sample.
        if band.at_peak == 0 && index >= stack.live && elsewhere(&band.name) {
            continue;
        }
        y += labels::LEGEND_LINE;
        let name = if index < stack.live { name_in(stack.curve.dimension, &band.name) } else { band.name.clone() };
        let amount = format!("{}  ({})", size(band.at_peak), share(band.at_peak, rss));
        let amount = if index < stack.above { amount } else { format!("{amount}, below zero") };
        labels::entry(svg, y, fill(stack, index, colours), &name, &amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::{tiny, with_coarse_columns};

    #[test]
    fn the_picture_has_a_band_for_every_line_and_is_the_same_every_time() {
        let run = Run::new("x", with_coarse_columns(tiny()));
        let colours = Colours::of([&run.timeline]);
        let svg = rss_svg(&run, Dimension::Phase, &colours).unwrap();
        assert_eq!(svg, rss_svg(&run, Dimension::Phase, &colours).unwrap());
        for name in
            ["allocator", "tracker", "stacks", "other memory", "files", "claimed but never touched", "unexplained"]
        {
            assert!(svg.contains(&format!(">{name}</text>")), "{name}");
        }
        assert!(svg.contains(">500 B  (2.6 %), below zero<"), "{svg}");
    }

    #[test]
    fn an_older_run_has_no_such_picture() {
        assert!(rss_svg(&Run::new("x", tiny()), Dimension::Phase, &Colours::of([])).is_none());
    }
}
