//! The words around the picture: heading, the peak's label, legend.
use alloc_timeline::{Dimension, NONE};

use crate::analysis::Curve;
use crate::model::{Run, share, shortened, size, time};
use crate::view::palette::colour;
use crate::view::svg::{Num, Svg};
use crate::view::timeline::{DIM, Frame, HALO, INK, LEFT, PLOT_WIDTH, RSS, TOP};

/// Distance of two entries of the legend.
const LEGEND_LINE: f64 = 30.0;

pub(super) fn heading(svg: &mut Svg, run: &Run, dimension: Dimension) {
    svg.text(LEFT, 30.0, format_args!("{INK} font-size=\"20\" font-weight=\"bold\""), &run.title());
    let peak = &run.timeline.peak;
    let mut line = format!("Live bytes by {dimension}; peak {} at {}", size(peak.live_bytes), time(peak.time_ns));
    match run.rss_peak() {
        Some(rss) => line.push_str(&format!("; resident at most {}", size(rss))),
        None => line.push_str("; resident set unavailable"),
    }
    svg.text(LEFT, 52.0, format_args!("{DIM} font-size=\"13\""), &line);
}

pub(super) fn peak(svg: &mut Svg, frame: &Frame, run: &Run) {
    let peak = &run.timeline.peak;
    if peak.live_bytes == 0 {
        return;
    }
    let (x, y) = (frame.x(peak.time_ns), frame.y(peak.live_bytes));
    svg.with_tip(
        "circle",
        format_args!("{RSS} cx=\"{}\" cy=\"{}\" r=\"4.5\" fill=\"#fff\" stroke-width=\"2\"", Num(x), Num(y)),
        &format!("peak: {} at {}", size(peak.live_bytes), time(peak.time_ns)),
    );
    // The label lies in the head room, where no curve reaches.
    let label = format!("peak {} at {}", size(peak.live_bytes), time(peak.time_ns));
    let half = label.chars().count() as f64 * 3.7;
    let middle = x.clamp(LEFT + half + 4.0, LEFT + PLOT_WIDTH - half - 4.0);
    let line = format_args!("{RSS} stroke-width=\"1\" d=\"M{x} {}V{}\"", Num(TOP + 20.0), Num(y - 5.0), x = Num(x))
        .to_string();
    if y > TOP + 26.0 {
        svg.element("path", line);
    }
    let font = "font-size=\"13\" font-weight=\"bold\" text-anchor=\"middle\"";
    svg.text(middle, TOP + 15.0, format_args!("{HALO} {font} stroke-width=\"4\""), &label);
    svg.text(middle, TOP + 15.0, format_args!("{INK} {font}"), &label);
}

pub(super) fn legend(svg: &mut Svg, run: &Run, curve: &Curve) {
    let x = LEFT + PLOT_WIDTH + 22.0;
    let live = run.timeline.peak.live_bytes;
    let mut y = TOP + 4.0;
    let (dim, ink) = (format!("{DIM} font-size=\"12\""), format!("{INK} font-size=\"12\""));
    svg.text(x, y, &dim, &format!("{} at the peak", curve.dimension));
    for (rank, band) in curve.bands.iter().enumerate() {
        y += LEGEND_LINE;
        let fill = colour(curve.dimension, &band.name, rank);
        let swatch =
            format_args!("width=\"13\" height=\"13\" rx=\"2\" fill=\"{fill}\" x=\"{x}\" y=\"{}\"", Num(y - 11.0));
        svg.element("rect", swatch);
        let name = if band.name == NONE { format!("no {}", curve.dimension) } else { band.name.clone() };
        svg.text(x + 20.0, y, &ink, &shortened(&name, 29));
        let amount = format!("{}  ({})", size(band.at_peak), share(band.at_peak, live));
        svg.text(x + 20.0, y + 14.0, &dim, &amount);
    }
    if !curve.rss.is_empty() {
        y += LEGEND_LINE;
        svg.element("path", format_args!("{RSS} stroke-width=\"2\" d=\"M{x} {}h13\"", Num(y - 4.0)));
        svg.text(x + 20.0, y, &ink, "resident set (RSS)");
        let amount = run.lane("rss").and_then(|lane| lane.at_peak_bytes);
        let amount = amount.map_or("not read at the peak".to_owned(), |bytes| format!("{} at the peak", size(bytes)));
        svg.text(x + 20.0, y + 14.0, &dim, &amount);
    }
}
