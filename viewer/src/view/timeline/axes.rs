//! Along the axes: grid lines and labels, boundaries of steps, marks, and the strip of growing phases.
use alloc_timeline::Dimension;

use crate::analysis::growing_phases;
use crate::model::{Run, size, time};
use crate::view::ink::{AXIS, DIM, GRID, INK};
use crate::view::palette::Colours;
use crate::view::scale::{UNIT, time_ticks};
use crate::view::svg::{Coordinate, Svg};
use crate::view::timeline::layout::{LEFT, PLOT_HEIGHT, PLOT_WIDTH, PlotArea, RIGHT, TOP};

/// With more steps than this no boundaries are drawn: they would be a grey haze.
const MOST_STEP_LINES: usize = 60;
/// The largest number of marks that are drawn.
const MOST_MARKS: usize = 400;

/// The lines and labels of both axes.
pub(super) fn grid(svg: &mut Svg, area: &PlotArea) {
    let (bottom, right) = (TOP + PLOT_HEIGHT, LEFT + PLOT_WIDTH);
    for (label, height) in area.scale.lines() {
        let y = area.y_at(height);
        svg.element("path", format_args!("{GRID} d=\"M{LEFT} {}H{right}\"", Coordinate(y)));
        svg.text(LEFT - 8.0, y + 4.0, format_args!("{DIM} font-size=\"12\" text-anchor=\"end\""), &label);
    }
    svg.text(LEFT - 8.0, TOP - 14.0, format_args!("{DIM} font-size=\"12\" text-anchor=\"end\""), area.scale.unit.name);
    let (ticks, unit) = time_ticks(0, area.end_ns, 8);
    for (ns, label) in ticks {
        let x = area.x(ns);
        svg.element("path", format_args!("{AXIS} d=\"M{} {bottom}v5\"", Coordinate(x)));
        svg.text(x, bottom + 19.0, format_args!("{DIM} font-size=\"12\" text-anchor=\"middle\""), &label);
    }
    svg.text(right + UNIT, bottom + 19.0, format_args!("{DIM} font-size=\"12\""), unit);
    svg.element("path", format_args!("{AXIS} d=\"M{LEFT} {bottom}H{right}\""));
}

/// A dashed line at the beginning of each step, and its number above.
pub(super) fn steps(svg: &mut Svg, area: &PlotArea, run: &Run) {
    let steps = &run.timeline.steps;
    if steps.len() > MOST_STEP_LINES {
        return;
    }
    let bottom = TOP + PLOT_HEIGHT;
    let mut free_from = LEFT;
    for (index, step) in steps.iter().enumerate() {
        let x = area.x(step.start_ns);
        let line = format!("{AXIS} stroke-opacity=\"0.55\" stroke-dasharray=\"2 3\"");
        svg.element("path", format_args!("{line} d=\"M{} {TOP}V{bottom}\"", Coordinate(x)));
        // The end of a step gets a line of its own where no other step begins.
        if steps.get(index + 1).is_none_or(|next| next.start_ns > step.end_ns) {
            svg.element("path", format_args!("{line} d=\"M{} {TOP}V{bottom}\"", Coordinate(area.x(step.end_ns))));
        }
        let (middle, text) = ((x + area.x(step.end_ns)) / 2.0, format!("step {}", step.index));
        let half = text.len() as f64 * 3.0 + 4.0;
        if middle - half >= free_from {
            svg.text(middle, TOP - 5.0, format_args!("{DIM} font-size=\"11\" text-anchor=\"middle\""), &text);
            free_from = middle + half;
        }
    }
}

/// A small triangle on the axis for each mark. The first mark of each name gets a label where there is room.
pub(super) fn marks(svg: &mut Svg, area: &PlotArea, run: &Run) {
    let bottom = TOP + PLOT_HEIGHT;
    let mut free_from = LEFT;
    let mut labelled: Vec<&str> = Vec::new();
    for mark in run.timeline.marks.iter().take(MOST_MARKS) {
        let x = area.x(mark.time_ns);
        svg.with_tip(
            "path",
            format_args!("{INK} d=\"M{} {bottom}l-3.5 -6h7z\"", Coordinate(x)),
            &format!("mark {} at {}: {} live", mark.name, time(mark.time_ns), size(mark.live_bytes)),
        );
        let half = mark.name.chars().count() as f64 * 2.8 + 5.0;
        let fits = x - half >= free_from && x + half <= LEFT + PLOT_WIDTH + RIGHT / 4.0;
        if fits && !labelled.contains(&mark.name.as_str()) {
            svg.text(x, bottom + 33.0, format_args!("{DIM} font-size=\"10\" text-anchor=\"middle\""), &mark.name);
            labelled.push(&mark.name);
            free_from = x + half;
        }
    }
}

/// The spans in which a phase was growing, with a legend of their own.
pub(super) fn growing_phases_strip(svg: &mut Svg, area: &PlotArea, run: &Run, colours: &Colours) {
    let spans = growing_phases(&run.timeline);
    if spans.is_empty() {
        return;
    }
    let y = TOP + PLOT_HEIGHT + 42.0;
    let mut phases: Vec<&str> = Vec::new();
    svg.text(LEFT - 8.0, y + 10.0, format_args!("{DIM} font-size=\"11\" text-anchor=\"end\""), "growing");
    for span in &spans {
        let rank = phases.iter().position(|phase| *phase == span.phase).unwrap_or_else(|| {
            phases.push(&span.phase);
            phases.len() - 1
        });
        let (from, to) = (area.x(span.start_ns), area.x(span.end_ns));
        svg.with_tip(
            "rect",
            format_args!(
                "x=\"{}\" y=\"{y}\" width=\"{}\" height=\"12\" fill=\"{}\"",
                Coordinate(from),
                Coordinate((to - from).max(0.5)),
                colours.colour(Dimension::Phase, &span.phase, rank)
            ),
            &format!("{} grew the most, {} to {}", span.phase, time(span.start_ns), time(span.end_ns)),
        );
    }
    let mut x = LEFT;
    for (rank, phase) in phases.iter().enumerate() {
        let width = 22.0 + phase.chars().count() as f64 * 6.4;
        if x + width > LEFT + PLOT_WIDTH {
            break;
        }
        let fill = colours.colour(Dimension::Phase, phase, rank);
        let swatch = format_args!(
            "width=\"9\" height=\"9\" fill=\"{fill}\" x=\"{}\" y=\"{}\"",
            Coordinate(x),
            Coordinate(y + 20.0)
        );
        svg.element("rect", swatch);
        svg.text(x + 13.0, y + 28.5, format_args!("{DIM} font-size=\"11\""), phase);
        x += width;
    }
}
