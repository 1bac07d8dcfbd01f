//! One lane: its name above it, its figures as lines or, where they are parts of a hundred, as rows of darker and lighter spans,
//! and at the right who they are.
use crate::analysis::{LaneLine, LaneUnit, UseLane};
use crate::model::{shortened, size};
use crate::view::ink::{AXIS, DIM, GRID, INK};
use crate::view::palette::{Rgb, ranked};
use crate::view::svg::{Coordinate, Svg};

/// Height of the name above a lane.
const NAME: f64 = 18.0;
/// Height of the lines of a lane.
const LINES: f64 = 58.0;
/// Height of a row of spans.
const ROW: f64 = 13.0;
/// Steps from idle to busy.
const SHADES: f64 = 10.0;
/// Characters of a name in the legend.
const LEGEND_NAME: usize = 16;
/// Entries of a legend that have room beside the lines.
const MOST_ENTRIES: usize = 4;
/// Distance of two entries.
const ENTRY: f64 = 16.0;

/// Where instants lie.
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) width: f64,
    pub(super) end_ns: u64,
    pub(super) span_ns: u64,
}

impl Area {
    pub(super) fn x(&self, ns: u64) -> f64 {
        self.left + self.width * (ns as f64 / self.end_ns as f64).min(1.0)
    }

    /// Where a span begins.
    fn x_of(&self, span: usize) -> f64 {
        self.x(self.span_ns.saturating_mul(span as u64))
    }
}

/// The height of a lane with its name.
pub(super) fn height(lane: &UseLane) -> f64 {
    NAME + if lane.unit == LaneUnit::Percent { ROW * lane.lines.len() as f64 } else { LINES }
}

/// A value with its unit.
pub(super) fn value(value: f64, unit: LaneUnit) -> String {
    match unit {
        LaneUnit::Bytes => size(value as u64),
        LaneUnit::Cores => format!("{value:.2}"),
        LaneUnit::Percent => format!("{value:.0} %"),
        LaneUnit::PerSecond if value >= 100.0 => format!("{}/s", crate::model::exact(value as u64)),
        LaneUnit::PerSecond => format!("{value:.1}/s"),
        LaneUnit::Watts => format!("{value:.1} W"),
    }
}

/// Draws a lane whose upper end is at `top`.
pub(super) fn draw(svg: &mut Svg, area: &Area, lane: &UseLane, top: f64) {
    svg.text(area.left, top + 12.0, format_args!("{INK} font-size=\"12\" font-weight=\"bold\""), &lane.name);
    if lane.unit == LaneUnit::Percent { rows(svg, area, lane, top + NAME) } else { lines(svg, area, lane, top + NAME) }
}

/// A row for each figure: the fuller the colour, the nearer to a hundred.
fn rows(svg: &mut Svg, area: &Area, lane: &UseLane, top: f64) {
    for (index, line) in lane.lines.iter().enumerate() {
        let y = top + ROW * index as f64;
        let shades: Vec<Option<u64>> =
            line.values.iter().map(|value| value.map(|value| (value / 100.0 * SHADES).round() as u64)).collect();
        let mut span = 0;
        // Neighbours of one shade are one rectangle.
        for same in shades.chunk_by(|a, b| a == b) {
            let (from, to) = (area.x_of(span), area.x_of(span + same.len()));
            span += same.len();
            let Some(shade) = same[0] else { continue };
            let place = format!("x=\"{}\" y=\"{}\"", Coordinate(from), Coordinate(y));
            let extent = format!("width=\"{}\" height=\"{}\"", Coordinate(to - from), Coordinate(ROW - 2.0));
            let fill = ranked(1);
            let opacity = 0.06 + 0.94 * (shade as f64 / SHADES).min(1.0);
            svg.element("rect", format_args!("{place} {extent} fill=\"{fill}\" fill-opacity=\"{opacity:.2}\""));
        }
        let attributes = format_args!("{DIM} font-size=\"11\" text-anchor=\"end\"");
        svg.text(area.left - 8.0, y + 10.0, attributes, &shortened(&line.name, 10));
        let mean = format!("mean {}", value(line.mean, lane.unit));
        svg.text(area.left + area.width + 22.0, y + 10.0, format_args!("{DIM} font-size=\"11\""), &mean);
    }
}

/// Lines over each other, from zero to the largest value.
fn lines(svg: &mut Svg, area: &Area, lane: &UseLane, top: f64) {
    let (bottom, right) = (top + LINES, area.left + area.width);
    let most = lane.lines.iter().map(LaneLine::most).fold(0.0, f64::max);
    svg.element("path", format_args!("{GRID} d=\"M{} {}H{}\"", area.left, Coordinate(top), Coordinate(right)));
    svg.element("path", format_args!("{AXIS} d=\"M{} {}H{}\"", area.left, Coordinate(bottom), Coordinate(right)));
    let attributes = format!("{DIM} font-size=\"11\" text-anchor=\"end\"");
    svg.text(area.left - 8.0, top + 4.0, &attributes, &value(most, lane.unit));
    svg.text(area.left - 8.0, bottom + 4.0, &attributes, "0");
    for (index, line) in lane.lines.iter().enumerate() {
        let fill = ranked(index + 1);
        let path = steps_of(area, line, if most > 0.0 { LINES / most } else { 0.0 }, bottom);
        if index == 0 && !path.is_empty() {
            svg.element("path", format_args!("fill=\"{fill}\" fill-opacity=\"0.22\" d=\"{}\"", closed(&path, bottom)));
        }
        for part in &path {
            let points: Vec<String> =
                part.iter().map(|(x, y)| format!("{} {}", Coordinate(*x), Coordinate(*y))).collect();
            let stroke =
                format_args!("fill=\"none\" stroke=\"{fill}\" stroke-width=\"1.4\" d=\"M{}\"", points.join("L"));
            svg.element("path", stroke);
        }
        // Two figures or less have room for two lines each.
        let two = lane.lines.len() <= MOST_ENTRIES / 2;
        if index < MOST_ENTRIES {
            let height = if two { 2.0 * ENTRY } else { ENTRY };
            entry(svg, right + 22.0, top + height * index as f64, two, fill, line, lane.unit);
        }
    }
}

/// The outlines of the parts of a figure that have values, as steps.
fn steps_of(area: &Area, line: &LaneLine, scale: f64, bottom: f64) -> Vec<Vec<(f64, f64)>> {
    let mut parts = Vec::new();
    let mut span = 0;
    for same in line.values.chunk_by(|a, b| a.is_some() == b.is_some()) {
        let first = span;
        span += same.len();
        if same[0].is_some() {
            let step = |(index, value): (usize, &Option<f64>)| {
                let y = bottom - value.unwrap_or(0.0) * scale;
                [(area.x_of(first + index), y), (area.x_of(first + index + 1), y)]
            };
            parts.push(same.iter().enumerate().flat_map(step).collect());
        }
    }
    parts
}

/// The areas between the outlines and the axis.
fn closed(parts: &[Vec<(f64, f64)>], bottom: f64) -> String {
    let area = |part: &Vec<(f64, f64)>| {
        let points: Vec<String> = part.iter().map(|(x, y)| format!("{} {}", Coordinate(*x), Coordinate(*y))).collect();
        let (from, to) = (part.first().map_or(0.0, |point| point.0), part.last().map_or(0.0, |point| point.0));
        let bottom = Coordinate(bottom);
        format!("M{} {bottom}L{}L{} {bottom}Z", Coordinate(from), points.join("L"), Coordinate(to))
    };
    parts.iter().map(area).collect()
}

/// A figure in the legend: its colour, its name, its mean and its largest value, in one line or in two.
fn entry(svg: &mut Svg, x: f64, y: f64, two: bool, fill: Rgb, line: &LaneLine, unit: LaneUnit) {
    let place = format!("x=\"{}\" y=\"{}\"", Coordinate(x), Coordinate(y));
    svg.element("rect", format_args!("{place} width=\"9\" height=\"9\" fill=\"{fill}\""));
    let name = shortened(&line.name, LEGEND_NAME);
    let figures = format!("mean {}, most {}", value(line.mean, unit), value(line.most(), unit));
    let attributes = format!("{DIM} font-size=\"11\"");
    if two {
        svg.text(x + 14.0, y + 9.0, &attributes, &name);
        svg.text(x + 14.0, y + 9.0 + ENTRY - 2.0, &attributes, &figures);
    } else {
        svg.text(x + 14.0, y + 9.0, &attributes, &format!("{name}: {figures}"));
    }
}
