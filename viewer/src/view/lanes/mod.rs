//! How busy the machine was while the memory came and went: lanes below each other, on the clock and in the width of the timeline's
//! picture, so that one can be laid under the other.
//!
//! ```text
//!  title
//!  live bytes        .-''''-.___        live    most 354 MiB
//!  processors used   ##############     this process  mean 0.9, most 1.0
//!  cores             [][][][#][#][]     one row for each core, the darker the busier
//!  page faults       _|_|_________
//!  ...
//!  time labels
//!  what there is not, and why
//! ```
mod lane;

use crate::analysis::{UseLane, UseLanes, use_lanes};
use crate::model::{Run, time};
use crate::view::ink::{AXIS, DIM, STYLE};
use crate::view::lanes::lane::{Area, draw, height, value};
use crate::view::scale::{UNIT, time_ticks};
use crate::view::svg::{Coordinate, Svg};

const WIDTH: f64 = 1200.0;
/// Left end and width of the lanes: those of the timeline's picture.
const LEFT: f64 = 84.0;
const PLOT_WIDTH: f64 = 866.0;
/// Height of the title, and of what is below the lanes.
const TITLE: f64 = 70.0;
const BOTTOM: f64 = 40.0;
/// Height of one reason.
const REASON: f64 = 18.0;
/// Between two lanes.
const GAP: f64 = 14.0;
/// Number of columns with a tip.
const TIP_COLUMNS: usize = 108;
/// With more steps than this no boundaries are drawn.
const MOST_STEP_LINES: usize = 60;

/// The picture; `None` for a run that recorded nothing but memory over time.
pub fn lanes_svg(run: &Run) -> Option<String> {
    let lanes = use_lanes(run)?;
    let timeline = &run.timeline;
    let end_ns = timeline.duration_ns.max(timeline.series.time_ns.last().copied().unwrap_or(0));
    let area = Area {
        left: LEFT,
        width: PLOT_WIDTH,
        end_ns: end_ns.max(timeline.peak.time_ns).max(1),
        span_ns: lanes.span_ns,
    };
    let below = TITLE + lanes.lanes.iter().map(|lane| height(lane) + GAP).sum::<f64>();
    let whole = below + BOTTOM + REASON * lanes.unavailable.len() as f64;
    let mut svg = Svg::new(WIDTH, whole, &format!("Use of the machine over time: {}", run.title()), STYLE);
    svg.element(
        "rect",
        format_args!("class=\"tl-bg\" width=\"{WIDTH}\" height=\"{}\" fill=\"#fff\"", Coordinate(whole)),
    );
    let line = format!("Use of the machine over time, in spans of {}", time(lanes.span_ns));
    svg.heading(LEFT, &run.title(), &line);
    steps(&mut svg, &area, run, below - GAP);
    let mut top = TITLE;
    for lane in &lanes.lanes {
        draw(&mut svg, &area, lane, top);
        top += height(lane) + GAP;
    }
    axis(&mut svg, &area, below - GAP);
    tips(&mut svg, &area, &lanes, below - GAP);
    for (index, reason) in lanes.unavailable.iter().enumerate() {
        let y = below + BOTTOM - 8.0 + REASON * index as f64;
        svg.text(LEFT, y, format_args!("{DIM} font-size=\"12\""), reason);
    }
    Some(svg.finish())
}

/// A dashed line at the beginning of each step and at the end of the last one.
fn steps(svg: &mut Svg, area: &Area, run: &Run, bottom: f64) {
    let steps = &run.timeline.steps;
    if steps.len() > MOST_STEP_LINES {
        return;
    }
    for ns in steps.iter().map(|step| step.start_ns).chain(steps.last().map(|step| step.end_ns)) {
        let line = format_args!("stroke-opacity=\"0.55\" stroke-dasharray=\"2 3\"").to_string();
        let (x, bottom) = (Coordinate(area.x(ns)), Coordinate(bottom));
        svg.element("path", format_args!("{AXIS} {line} d=\"M{x} {TITLE}V{bottom}\""));
    }
}

/// The labels of the clock.
fn axis(svg: &mut Svg, area: &Area, y: f64) {
    let right = LEFT + PLOT_WIDTH;
    let (ticks, unit) = time_ticks(0, area.end_ns, 8);
    for (ns, label) in ticks {
        let x = area.x(ns);
        svg.element("path", format_args!("{AXIS} d=\"M{} {}v5\"", Coordinate(x), Coordinate(y)));
        svg.text(x, y + 19.0, format_args!("{DIM} font-size=\"12\" text-anchor=\"middle\""), &label);
    }
    svg.text(right + UNIT, y + 19.0, format_args!("{DIM} font-size=\"12\""), unit);
}

/// Invisible columns over all lanes. The tip of each has every value at its middle.
fn tips(svg: &mut Svg, area: &Area, lanes: &UseLanes, bottom: f64) {
    let width = PLOT_WIDTH / TIP_COLUMNS as f64;
    for column in 0..TIP_COLUMNS {
        let part = (column as f64 + 0.5) / TIP_COLUMNS as f64;
        let ns = (part * area.end_ns as f64) as u64;
        let span = usize::try_from(ns / lanes.span_ns).unwrap_or(usize::MAX);
        let mut tip = time(ns);
        for lane in &lanes.lanes {
            tip.push_str(&format!("\n{}", words(lane, span)));
        }
        let place = format!("x=\"{}\" y=\"{TITLE}\"", Coordinate(LEFT + width * column as f64));
        let size = format!("width=\"{}\" height=\"{}\"", Coordinate(width), Coordinate(bottom - TITLE));
        svg.with_tip("rect", format_args!("{place} {size} fill=\"#000\" fill-opacity=\"0\""), &tip);
    }
}

/// The values of a lane in one span: `page faults: without a disk 12/s, with a disk 0/s`.
fn words(lane: &UseLane, span: usize) -> String {
    let known = |line: &crate::analysis::LaneLine| line.values.get(span).copied().flatten();
    let lines = lane.lines.iter().map(|line| {
        let value = known(line).map_or("not read".to_owned(), |known| value(known, lane.unit));
        format!("{} {value}", line.name)
    });
    format!("{}: {}", lane.name, lines.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;

    fn run() -> Run {
        let mut timeline = tiny();
        timeline.duration_ns = 600_000_000;
        timeline.series.time_ns = (0..6).map(|index| index * 100_000_000).collect();
        for (name, reading) in [
            ("cpu_process_permille", 900),
            ("cpu_core_0_permille", 1000),
            ("cpu_core_1_permille", 300),
            ("minor_faults", 12),
            ("gpu_0_busy_percent", 40),
            ("gpu_0_used_bytes", 5 << 30),
            ("power_package-0_mw", 15_500),
        ] {
            timeline.series.probes.insert(name.to_owned(), vec![Some(reading); 6]);
        }
        Run::new("x", timeline)
    }

    #[test]
    fn the_picture_has_every_lane_and_is_the_same_every_time() {
        let svg = lanes_svg(&run()).expect("lanes");
        assert_eq!(svg, lanes_svg(&run()).expect("lanes"));
        for text in
            ["live bytes", "processors used", "core 1", "page faults", "GPU 0", "package-0", "15.5 W", "5,120.0 MiB"]
        {
            assert!(svg.contains(text), "{text}\n{svg}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }

    #[test]
    fn an_older_run_has_no_such_picture() {
        assert_eq!(lanes_svg(&Run::new("x", tiny())), None);
    }
}
