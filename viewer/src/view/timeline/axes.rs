//! What lies along the axes: grid lines and labels, step boundaries, marks, and the strip of growing phases.
use alloc_timeline::Dimension;

use crate::analysis::growing;
use crate::model::{Run, size, time};
use crate::view::palette::colour;
use crate::view::scale::nice_times;
use crate::view::svg::{Num, Svg};
use crate::view::timeline::{AXIS, DIM, Frame, GRID, INK, LEFT, PLOT_HEIGHT, PLOT_WIDTH, RIGHT, TOP};

/// More of them would be a grey haze.
const MOST_STEP_LINES: usize = 60;
const MOST_MARKS: usize = 400;

pub(super) fn grid(svg: &mut Svg, frame: &Frame) {
    let (bottom, right) = (TOP + PLOT_HEIGHT, LEFT + PLOT_WIDTH);
    for (label, height) in frame.scale.lines() {
        let y = TOP + PLOT_HEIGHT * (1.0 - height);
        svg.element("path", format_args!("{GRID} d=\"M{LEFT} {}H{right}\"", Num(y)));
        svg.text(LEFT - 8.0, y + 4.0, format_args!("{DIM} font-size=\"12\" text-anchor=\"end\""), &label);
    }
    svg.text(LEFT - 8.0, TOP - 14.0, format_args!("{DIM} font-size=\"12\" text-anchor=\"end\""), frame.scale.unit.name);
    let (ticks, unit) = nice_times(0, frame.end_ns, 8);
    for (ns, label) in ticks {
        let x = frame.x(ns);
        svg.element("path", format_args!("{AXIS} d=\"M{} {bottom}v5\"", Num(x)));
        svg.text(x, bottom + 19.0, format_args!("{DIM} font-size=\"12\" text-anchor=\"middle\""), &label);
    }
    svg.text(right + 10.0, bottom + 19.0, format_args!("{DIM} font-size=\"12\""), unit);
    svg.element("path", format_args!("{AXIS} d=\"M{LEFT} {bottom}H{right}\""));
}

pub(super) fn steps(svg: &mut Svg, frame: &Frame, run: &Run) {
    let steps = &run.timeline.steps;
    if steps.len() > MOST_STEP_LINES {
        return;
    }
    let bottom = TOP + PLOT_HEIGHT;
    let mut free_from = LEFT;
    for (index, step) in steps.iter().enumerate() {
        let x = frame.x(step.start_ns);
        let line = format!("{AXIS} stroke-opacity=\"0.55\" stroke-dasharray=\"2 3\"");
        svg.element("path", format_args!("{line} d=\"M{} {TOP}V{bottom}\"", Num(x)));
        // The end of a step is drawn where no other step begins.
        if steps.get(index + 1).is_none_or(|next| next.start_ns > step.end_ns) {
            svg.element("path", format_args!("{line} d=\"M{} {TOP}V{bottom}\"", Num(frame.x(step.end_ns))));
        }
        let (middle, text) = ((x + frame.x(step.end_ns)) / 2.0, format!("step {}", step.index));
        let half = text.len() as f64 * 3.0 + 4.0;
        if middle - half >= free_from {
            svg.text(middle, TOP - 5.0, format_args!("{DIM} font-size=\"11\" text-anchor=\"middle\""), &text);
            free_from = middle + half;
        }
    }
}

/// A small triangle on the axis for each mark; the first of each name is labelled where there is room.
pub(super) fn marks(svg: &mut Svg, frame: &Frame, run: &Run) {
    let bottom = TOP + PLOT_HEIGHT;
    let mut free_from = LEFT;
    let mut labelled: Vec<&str> = Vec::new();
    for mark in run.timeline.marks.iter().take(MOST_MARKS) {
        let x = frame.x(mark.time_ns);
        svg.with_tip(
            "path",
            format_args!("{INK} d=\"M{} {bottom}l-3.5 -6h7z\"", Num(x)),
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

/// Which phase grew when, with its own legend.
pub(super) fn strip(svg: &mut Svg, frame: &Frame, run: &Run) {
    let spans = growing(&run.timeline);
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
        let (from, to) = (frame.x(span.start_ns), frame.x(span.end_ns));
        svg.with_tip(
            "rect",
            format_args!(
                "x=\"{}\" y=\"{y}\" width=\"{}\" height=\"12\" fill=\"{}\"",
                Num(from),
                Num((to - from).max(0.5)),
                colour(Dimension::Phase, &span.phase, rank)
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
        let fill = colour(Dimension::Phase, phase, rank);
        let swatch = format_args!("width=\"9\" height=\"9\" fill=\"{fill}\" x=\"{}\" y=\"{}\"", Num(x), Num(y + 20.0));
        svg.element("rect", swatch);
        svg.text(x + 13.0, y + 28.5, format_args!("{DIM} font-size=\"11\""), phase);
        x += width;
    }
}
