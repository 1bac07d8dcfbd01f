//! The rows of the picture: a name, the bars on both sides of it, and the scales above them.
use alloc_timeline::{Category, Dimension};

use crate::analysis::{Cost, Costs, TimeBasis};
use crate::model::{share, shortened, size};
use crate::view::ink::{DIM, GRID, INK};
use crate::view::palette::{Rgb, category_colour, own_colour, ranked};
use crate::view::scale::{byte_ticks, time_ticks};
use crate::view::svg::{Coordinate, Svg};
use crate::view::words::names::name_in;
use crate::view::words::self_time::milliseconds;

/// Height of the legend.
pub(super) const LEGEND: f64 = 26.0;
/// Height of a panel's heading and scales, of a row, and of the bar in it.
const HEAD: f64 = 40.0;
const ROW: f64 = 15.0;
const BAR: f64 = 11.0;
/// The bars of bytes end here, those of time begin there; the names are between them.
const BYTES_LEFT: f64 = 24.0;
const BYTES_RIGHT: f64 = 500.0;
const TIME_LEFT: f64 = 700.0;
const TIME_RIGHT: f64 = 1176.0;
/// Characters of a name.
const LONGEST_NAME: usize = 32;
/// About how many lines a scale has.
const TICKS: usize = 6;

/// The parts of a time and their colours.
const PARTS: [(&str, &str); 3] = [("forward", "forward"), ("backward", "backward"), ("other phases", "optimizer")];

/// One block of rows.
pub(super) struct Panel<'a> {
    pub(super) top: f64,
    pub(super) names: &'a str,
    pub(super) rows: &'a [Cost],
    pub(super) basis: TimeBasis,
}

/// The height of a panel with so many rows.
pub(super) fn panel_height(rows: usize) -> f64 {
    HEAD + ROW * rows as f64
}

fn part_colour(index: usize) -> Rgb {
    own_colour(Dimension::Phase, PARTS[index].1).unwrap_or(ranked(index))
}

/// The colours of the categories on the left, and of the parts of a step on the right.
pub(super) fn legend(svg: &mut Svg, top: f64, costs: &Costs) {
    let has = |category: &&Category| {
        costs
            .layers
            .iter()
            .flat_map(|cost| &cost.by_category)
            .any(|(name, bytes)| name == category.name() && *bytes > 0)
    };
    let mut x = BYTES_LEFT;
    for category in Category::ALL.iter().filter(has) {
        x = entry(svg, x, top, category_colour(category.name()), &category.name().replace('_', " "));
    }
    let mut x = TIME_LEFT.max(x + 12.0);
    for (index, (name, _)) in PARTS.iter().enumerate() {
        x = entry(svg, x, top, part_colour(index), name);
    }
}

/// A square with a name; returns where the next one begins.
fn entry(svg: &mut Svg, x: f64, top: f64, fill: Rgb, name: &str) -> f64 {
    let place = format!("x=\"{}\" y=\"{}\"", Coordinate(x), Coordinate(top));
    svg.element("rect", format_args!("{place} width=\"10\" height=\"10\" fill=\"{fill}\""));
    svg.text(x + 14.0, top + 9.5, format_args!("{INK} font-size=\"12\""), name);
    // Letters of this size are about 6.2 wide.
    x + 26.0 + 6.2 * name.chars().count() as f64
}

/// Draws a panel.
pub(super) fn panel(svg: &mut Svg, panel: &Panel<'_>) {
    let middle = (BYTES_RIGHT + TIME_LEFT) / 2.0;
    let heading = format_args!("{INK} font-size=\"13\" font-weight=\"bold\" text-anchor=\"middle\"").to_string();
    svg.text(middle, panel.top + 10.0, &heading, panel.names);
    let (upper, lower) = (panel.top + HEAD - 6.0, panel.top + panel_height(panel.rows.len()));
    let most_bytes = panel.rows.iter().map(Cost::bytes).max().unwrap_or(0).max(1);
    let a_step = |ns: u64| panel.basis.a_step(ns);
    let most_ns = panel.rows.iter().map(|cost| a_step(cost.time.self_ns)).fold(1.0, f64::max);
    let bytes_width = |bytes: u64| bytes as f64 / most_bytes as f64 * (BYTES_RIGHT - BYTES_LEFT);
    let time_width = |ns: f64| ns / most_ns * (TIME_RIGHT - TIME_LEFT);

    let label = format_args!("{DIM} font-size=\"11\" text-anchor=\"middle\"").to_string();
    let mut line = |x: f64, text: &str| {
        svg.element(
            "path",
            format_args!("{GRID} d=\"M{} {}V{}\"", Coordinate(x), Coordinate(upper), Coordinate(lower)),
        );
        svg.text(x, upper - 5.0, &label, text);
    };
    let with_unit =
        |index: usize, label: String, unit: &str| if index == 0 { format!("{label} {unit}") } else { label };
    let (ticks, unit) = byte_ticks(0, most_bytes, TICKS);
    for (index, (bytes, text)) in ticks.into_iter().enumerate() {
        line(BYTES_RIGHT - bytes_width(bytes), &with_unit(index, text, unit));
    }
    let (ticks, unit) = time_ticks(0, most_ns as u64, TICKS);
    for (index, (ns, text)) in ticks.into_iter().enumerate() {
        line(TIME_LEFT + time_width(ns as f64), &with_unit(index, text, unit));
    }

    let sum = |number: fn(&Cost) -> u64| panel.rows.iter().map(number).fold(0, u64::saturating_add);
    let (all_bytes, all_ns) = (sum(Cost::bytes), sum(|cost| cost.time.self_ns));
    let dimension = if panel.names.contains("layer") { Dimension::Layer } else { Dimension::Op };
    for (index, cost) in panel.rows.iter().enumerate() {
        let top = panel.top + HEAD + ROW * index as f64;
        let name = name_in(dimension, &cost.name);
        let tip = format!(
            "{name}: {} of bytes at the peak, {} of time",
            share(cost.bytes(), all_bytes),
            share(cost.time.self_ns, all_ns)
        );
        let attributes = format!("{INK} font-size=\"11\" text-anchor=\"middle\"");
        svg.text(middle, top + 9.5, attributes, &shortened(&name, LONGEST_NAME));
        let mut x = BYTES_RIGHT;
        for (category, bytes) in &cost.by_category {
            let width = bytes_width(*bytes);
            x -= width;
            let part = format!("{name}: {} {}\n{tip}", category.replace('_', " "), size(*bytes));
            bar(svg, x, top, width, category_colour(category), &part);
        }
        let mut x = TIME_LEFT;
        let times = [cost.time.forward_ns, cost.time.backward_ns, cost.time.other_ns()];
        for (index, ns) in times.into_iter().enumerate() {
            let width = time_width(a_step(ns));
            let part = format!("{name}: {} {} ms\n{tip}", PARTS[index].0, milliseconds(&panel.basis, ns));
            bar(svg, x, top, width, part_colour(index), &part);
            x += width;
        }
    }
}

/// A bar that is wide enough to be seen.
fn bar(svg: &mut Svg, x: f64, top: f64, width: f64, fill: Rgb, tip: &str) {
    if width < 0.05 {
        return;
    }
    let place = format!("x=\"{}\" y=\"{}\"", Coordinate(x), Coordinate(top));
    svg.with_tip("rect", format_args!("{place} width=\"{}\" height=\"{BAR}\" fill=\"{fill}\"", Coordinate(width)), tip);
}
