//! The rows as a picture: time, memory, and memory by layer, each from no limit on the left down to failure on the right.
use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::row::{Row, largest};
use crate::chart::COLOURS;

/// Size of the picture in pixels.
const SIZE: (u32, u32) = (960, 860);
/// Room for the names of the lines, as a part of what the limits take.
const NAMES: f64 = 0.3;
/// How many layers have a line.
const LAYERS: usize = 6;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// One line: its name, and a value for each limit that has one.
struct Line {
    name: String,
    values: Vec<Option<f64>>,
}

/// The picture as SVG. A cross is a run that its limit broke, or may have broken.
pub(super) fn plot(rows: &[Row], command: &str) -> Result<String> {
    let mut svg = String::new();
    draw(&mut svg, rows, command).map_err(|problem| anyhow!("the picture cannot be drawn: {problem}"))?;
    Ok(svg)
}

fn draw(svg: &mut String, rows: &[Row], command: &str) -> Result<(), Box<dyn std::error::Error>> {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let mut title: String = command.chars().take(110).collect();
    if title.len() < command.len() {
        title.push_str(" ...");
    }
    let root = root.titled(&title, ("sans-serif", 14))?;
    let panels = root.split_evenly((3, 1));
    let line = |name: &str, value: fn(&Row) -> Option<f64>| Line {
        name: name.to_owned(),
        values: rows.iter().map(value).collect(),
    };
    let times = [
        line("whole command", |row| Some(row.wall_ns as f64 / 1e9)),
        line("a step (median)", |row| Some(row.run.as_ref()?.step_ns? as f64 / 1e9)),
    ];
    let memory = [
        line("limit", |row| row.limit_bytes.map(mib)),
        line("peak of all that counts", |row| row.counters.peak_bytes.map(mib)),
        line("peak of what cannot be reclaimed", |row| row.unreclaimable_peak_bytes.map(mib)),
    ];
    let layers = largest(rows, |layer| Some(layer.peak_bytes)).into_iter().take(LAYERS).map(|name| {
        let peak = |row: &Row| Some(mib(row.run.as_ref()?.layers.get(&name)?.peak_bytes));
        Line { values: rows.iter().map(peak).collect(), name }
    });
    let layers: Vec<Line> = layers.collect();
    for (panel, (unit, lines)) in
        panels.iter().zip([("seconds", &times[..]), ("MiB", &memory), ("MiB, peak of the layer", &layers)])
    {
        draw_panel(panel, rows, unit, lines)?;
    }
    root.present()?;
    Ok(())
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// One part of the picture: a place on the lower axis for each limit, a line for each quantity.
fn draw_panel(area: &Area<'_>, rows: &[Row], unit: &str, lines: &[Line]) -> Result<(), Box<dyn std::error::Error>> {
    let most = lines.iter().flat_map(|line| line.values.iter().flatten()).copied().fold(0.0, f64::max);
    let right = rows.len() as f64 * (1.0 + NAMES) - 0.5;
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(40)
        .y_label_area_size(60)
        .build_cartesian_2d(-0.5..right, 0.0..(most * 1.1).max(f64::MIN_POSITIVE))?;
    let label = |place: &f64| match rows.get(place.round() as usize) {
        Some(row) if (place - place.round()).abs() < 0.01 && *place > -0.1 => row.limit_text(),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(3 * rows.len())
        .x_label_formatter(&label)
        .x_desc("limit")
        .y_desc(unit)
        .draw()?;
    for (line, &colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let known = line.values.iter().enumerate().filter_map(|(place, value)| Some((place, (*value)?)));
        let points: Vec<(usize, f64)> = known.collect();
        let at = |&(place, value): &(usize, f64)| (place as f64, value);
        chart
            .draw_series(LineSeries::new(points.iter().map(at), colour.stroke_width(2)))?
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
        let (broke, stood): (Vec<_>, Vec<_>) = points.iter().partition(|(place, _)| rows[*place].broke != Some(false));
        chart.draw_series(stood.iter().map(|point| Circle::new(at(point), 3, colour.filled())))?;
        chart.draw_series(broke.iter().map(|point| Cross::new(at(point), 5, colour.stroke_width(2))))?;
    }
    chart.configure_series_labels().position(SeriesLabelPosition::UpperRight).draw()?;
    Ok(())
}
