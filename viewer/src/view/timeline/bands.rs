//! The bands, the line of the resident set over them, and the columns that display tips under the mouse.
use crate::analysis::{Band, Curve};
use crate::model::{size, time};
use crate::view::ink::{DIM, HALO, RSS};
use crate::view::palette::{Colours, Rgb};
use crate::view::svg::{Coordinate, Svg};
use crate::view::timeline::layout::{LEFT, PLOT_HEIGHT, PLOT_WIDTH, PlotArea, TOP};

/// Number of columns with a tip.
const TIP_COLUMNS: usize = 108;

/// The stack of bands. A grey area behind it displays bytes that were live between two samples only.
pub(super) fn stack(svg: &mut Svg, area: &PlotArea, curve: &Curve, colours: &Colours) {
    if curve.time_ns.is_empty() {
        let attributes = format_args!("{DIM} font-size=\"14\" text-anchor=\"middle\"");
        svg.text(LEFT + PLOT_WIDTH / 2.0, TOP + PLOT_HEIGHT / 2.0, attributes, "no samples were taken");
        return;
    }
    let hidden = hidden_peaks(curve);
    if hidden.iter().zip(&curve.total).any(|(high, total)| high > total) {
        let path = outline(area, &curve.time_ns, &curve.total, &hidden, PlotArea::y);
        let tip = "live between two samples";
        svg.with_tip("path", format_args!("class=\"tl-high\" fill=\"#d9dee3\" d=\"{path}\""), tip);
    }
    let coloured = curve.stacking_order().into_iter().map(|index| {
        let band = &curve.bands[index];
        let fill = colours.colour(curve.dimension, &band.name, index);
        (band, fill, format!("{}: {} at the peak", band.name, size(band.at_peak)))
    });
    pile(svg, area, &curve.time_ns, coloured, PlotArea::y);
}

/// Bands on top of each other, each with its colour and its tip. `y` says where bytes lie: above zero or below it.
pub(super) fn pile<'a>(
    svg: &mut Svg,
    area: &PlotArea,
    times: &[u64],
    bands: impl IntoIterator<Item = (&'a Band, Rgb, String)>,
    y: fn(&PlotArea, u64) -> f64,
) {
    let mut floor = vec![0u64; times.len()];
    for (band, fill, tip) in bands {
        let ceiling: Vec<u64> = floor.iter().zip(&band.bytes).map(|(a, b)| a.saturating_add(*b)).collect();
        let path = outline(area, times, &floor, &ceiling, y);
        svg.with_tip(
            "path",
            format_args!("class=\"tl-edge\" fill=\"{fill}\" stroke=\"#fff\" stroke-width=\"0.5\" d=\"{path}\""),
            &tip,
        );
        floor = ceiling;
    }
}

/// For each instant, the most bytes since the instant before, where these are more than both instants hold; otherwise the
/// total of the instant.
fn hidden_peaks(curve: &Curve) -> Vec<u64> {
    let before = |index: usize| if index == 0 { 0 } else { curve.total[index - 1] };
    let hidden = |index: usize| if curve.high[index] > before(index) { curve.high[index] } else { 0 };
    (0..curve.total.len()).map(|index| hidden(index).max(curve.total[index])).collect()
}

/// The outline of the area between two curves. Nothing is drawn where the area is empty.
fn outline(area: &PlotArea, times: &[u64], floor: &[u64], ceiling: &[u64], y: fn(&PlotArea, u64) -> f64) -> String {
    let point =
        |index: usize, bytes: u64| format!("{} {}", Coordinate(area.x(times[index])), Coordinate(y(area, bytes)));
    let mut path = String::new();
    let mut from = 0;
    let empty = |index: usize| ceiling[index] <= floor[index];
    while from < times.len() {
        if empty(from) {
            from += 1;
            continue;
        }
        let end = (from..times.len()).find(|&index| empty(index)).unwrap_or(times.len());
        // One more instant on each side, where the band's height is 0, so that the band rises from 0 and falls to 0.
        let (first, last) = (from.saturating_sub(1), end.min(times.len() - 1));
        let up = (first..=last).map(|index| point(index, ceiling[index]));
        let down = (first..=last).rev().map(|index| point(index, floor[index]));
        path.push('M');
        path.push_str(&up.chain(down).collect::<Vec<_>>().join("L"));
        path.push('Z');
        from = end.max(from + 1);
    }
    path
}

/// The resident set, with a light line beneath that sets it off from the bands.
pub(super) fn rss_line(svg: &mut Svg, area: &PlotArea, curve: &Curve) {
    let points: Vec<String> = curve
        .rss
        .iter()
        .map(|(ns, bytes)| format!("{} {}", Coordinate(area.x(*ns)), Coordinate(area.y(*bytes))))
        .collect();
    if points.len() > 1 {
        let path = points.join("L");
        svg.element("path", format_args!("{HALO} stroke-width=\"3.5\" stroke-opacity=\"0.7\" d=\"M{path}\""));
        let attributes = "fill=\"none\" stroke-width=\"1.5\" stroke-linejoin=\"round\"";
        svg.with_tip("path", format_args!("{RSS} {attributes} d=\"M{path}\""), "resident set (RSS)");
    }
}

/// Invisible columns. The tip of each lists the bands at its highest instant, under a headline. A column without an instant of
/// its own, of which a short run has many, belongs to the one before, and the first ones to the first that has one.
pub(super) fn tips(svg: &mut Svg, area: &PlotArea, curve: &Curve, headline: impl Fn(usize) -> String) {
    let width = PLOT_WIDTH / TIP_COLUMNS as f64;
    let column = |ns: u64| (((area.x(ns) - LEFT) / width) as usize).min(TIP_COLUMNS - 1);
    let indices: Vec<usize> = (0..curve.time_ns.len()).collect();
    let groups: Vec<&[usize]> =
        indices.chunk_by(|a, b| column(curve.time_ns[*a]) == column(curve.time_ns[*b])).collect();
    for (place, group) in groups.iter().enumerate() {
        let Some(&highest) = group.iter().max_by_key(|index| curve.total[**index]) else { continue };
        let mut tip = format!("{}: {}", time(curve.time_ns[highest]), headline(highest));
        for band in curve.bands.iter().filter(|band| band.bytes[highest] > 0) {
            tip.push_str(&format!("\n{}: {}", band.name, size(band.bytes[highest])));
        }
        let first = if place == 0 { 0 } else { column(curve.time_ns[highest]) };
        let next = groups.get(place + 1).map_or(TIP_COLUMNS, |next| column(curve.time_ns[next[0]]));
        let (x, wide) = (LEFT + width * first as f64, width * next.saturating_sub(first) as f64);
        svg.with_tip(
            "rect",
            format_args!(
                "x=\"{}\" y=\"{TOP}\" width=\"{}\" height=\"{PLOT_HEIGHT}\" fill=\"#000\" fill-opacity=\"0\"",
                Coordinate(x),
                Coordinate(wide)
            ),
            &tip,
        );
    }
}
