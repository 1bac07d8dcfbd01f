//! The texts of the picture: heading, label of the peak, and legend.
use alloc_timeline::Dimension;

use crate::analysis::Curve;
use crate::model::{Run, share, shortened, size, time};
use crate::view::ink::{DIM, HALO, INK, RSS};
use crate::view::palette::{Colours, Rgb};
use crate::view::svg::{Coordinate, Svg};
use crate::view::timeline::layout::{LEFT, PLOT_WIDTH, PlotArea, TOP};
use crate::view::words::names::name_in;

/// Distance between two entries of the legend.
pub(super) const LEGEND_LINE: f64 = 30.0;
/// The longest name in the legend.
const LEGEND_NAME: usize = 29;

/// Two lines above the picture.
pub(super) fn heading(svg: &mut Svg, run: &Run, dimension: Dimension) {
    let peak = &run.timeline.peak;
    let mut line = format!("Live bytes by {dimension}; peak {} at {}", size(peak.live_bytes), time(peak.time_ns));
    match run.rss_peak() {
        Some(rss) => line.push_str(&format!("; resident at most {}", size(rss))),
        None => line.push_str("; resident set unavailable"),
    }
    svg.heading(LEFT, &run.title(), &line);
}

/// A circle at the peak, with a label above it.
pub(super) fn peak(svg: &mut Svg, area: &PlotArea, run: &Run) {
    let peak = &run.timeline.peak;
    if peak.live_bytes == 0 {
        return;
    }
    let (x, y) = (area.x(peak.time_ns), area.y(peak.live_bytes));
    svg.with_tip(
        "circle",
        format_args!(
            "{RSS} cx=\"{}\" cy=\"{}\" r=\"4.5\" fill=\"#fff\" stroke-width=\"2\"",
            Coordinate(x),
            Coordinate(y)
        ),
        &format!("peak: {} at {}", size(peak.live_bytes), time(peak.time_ns)),
    );
    // The label lies above the highest point of the curves.
    let label = format!("peak {} at {}", size(peak.live_bytes), time(peak.time_ns));
    let half = label.chars().count() as f64 * 3.7;
    let middle = x.clamp(LEFT + half + 4.0, LEFT + PLOT_WIDTH - half - 4.0);
    let line = format_args!(
        "{RSS} stroke-width=\"1\" d=\"M{x} {}V{}\"",
        Coordinate(TOP + 20.0),
        Coordinate(y - 5.0),
        x = Coordinate(x)
    )
    .to_string();
    if y > TOP + 26.0 {
        svg.element("path", line);
    }
    let font = "font-size=\"13\" font-weight=\"bold\" text-anchor=\"middle\"";
    svg.text(middle, TOP + 15.0, format_args!("{HALO} {font} stroke-width=\"4\""), &label);
    svg.text(middle, TOP + 15.0, format_args!("{INK} {font}"), &label);
}

/// The bands with their bytes at the peak, and the resident set.
pub(super) fn legend(svg: &mut Svg, run: &Run, curve: &Curve, colours: &Colours) {
    let x = LEFT + PLOT_WIDTH + 22.0;
    let live = run.timeline.peak.live_bytes;
    let mut y = TOP + 4.0;
    let (dim, ink) = (format!("{DIM} font-size=\"12\""), format!("{INK} font-size=\"12\""));
    svg.text(x, y, &dim, &format!("{} at the peak", curve.dimension));
    for (rank, band) in curve.bands.iter().enumerate() {
        y += LEGEND_LINE;
        let name = name_in(curve.dimension, &band.name);
        let amount = format!("{}  ({})", size(band.at_peak), share(band.at_peak, live));
        entry(svg, y, colours.colour(curve.dimension, &band.name, rank), &name, &amount);
    }
    if !curve.rss.is_empty() {
        y += LEGEND_LINE;
        svg.element("path", format_args!("{RSS} stroke-width=\"2\" d=\"M{x} {}h13\"", Coordinate(y - 4.0)));
        svg.text(x + 20.0, y, &ink, "resident set (RSS)");
        let amount = run.lane("rss").and_then(|lane| lane.at_peak_bytes);
        let amount = amount.map_or("not read at the peak".to_owned(), |bytes| format!("{} at the peak", size(bytes)));
        svg.text(x + 20.0, y + 14.0, &dim, &amount);
    }
}

/// One entry of a legend: a colour, a name, and an amount below the name.
pub(super) fn entry(svg: &mut Svg, y: f64, fill: Rgb, name: &str, amount: &str) {
    let x = LEFT + PLOT_WIDTH + 22.0;
    let swatch =
        format_args!("width=\"13\" height=\"13\" rx=\"2\" fill=\"{fill}\" x=\"{x}\" y=\"{}\"", Coordinate(y - 11.0));
    svg.element("rect", swatch);
    svg.text(x + 20.0, y, format_args!("{INK} font-size=\"12\""), &shortened(name, LEGEND_NAME));
    svg.text(x + 20.0, y + 14.0, format_args!("{DIM} font-size=\"12\""), amount);
}
