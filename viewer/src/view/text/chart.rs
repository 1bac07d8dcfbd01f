//! The timeline in a terminal: a chart like massif's, whose bands differ in shade or, in a terminal with colours, in colour.
use alloc_timeline::Dimension;
use textwrap::core::display_width;

use crate::analysis::{Band, curve};
use crate::model::{Run, share, shortened, shown, size, time};
use crate::view::palette::Colours;
use crate::view::scale::{Scale, time_ticks};
use crate::view::text::table::SHORTEST_NAME;
use crate::view::text::terminal::Terminal;
use crate::view::words::names::name_in;

/// Rows of the chart, without its axes.
const ROWS: usize = 18;
/// Columns of the vertical axis: its labels and a line.
const AXIS: usize = 8;
/// Number of bands without the rest. Each has a shade, and so has the rest.
const MOST_BANDS: usize = 4;
/// Columns of a line of the legend beside the name.
const LEGEND: usize = 28;
/// The shades, from the biggest band to the rest.
const SHADES: [char; MOST_BANDS + 1] = ['\u{2588}', '\u{2593}', '\u{2592}', '\u{2591}', '\u{00b7}'];

/// The chart with its legend.
pub fn chart(run: &Run, dimension: Dimension, terminal: Terminal) -> String {
    let timeline = &run.timeline;
    let curve = curve(timeline, dimension, MOST_BANDS);
    let columns = terminal.width.clamp(40, 240) - AXIS - 1;
    let end = timeline.duration_ns.max(curve.span().1).max(1);
    let peak = &timeline.peak;
    let highest = curve.total.iter().copied().max().unwrap_or(0).max(peak.live_bytes);
    let scale = Scale::bytes(highest, 6);

    // Each column displays its highest instant. A column without any repeats the one before it.
    let column_of = |ns: u64| ((u128::from(ns) * columns as u128 / u128::from(end)) as usize).min(columns - 1);
    let mut shown: Vec<Option<usize>> = vec![None; columns];
    for (index, ns) in curve.time_ns.iter().enumerate() {
        let slot = &mut shown[column_of(*ns)];
        if slot.is_none_or(|kept| curve.total[index] >= curve.total[kept]) {
            *slot = Some(index);
        }
    }
    let (order, colours) = (curve.stacking_order(), Colours::of([timeline]));
    let last = curve.time_ns.last().map_or(0, |ns| column_of(*ns));
    for column in 1..=last {
        shown[column] = shown[column].or(shown[column - 1]);
    }

    let mut out = format!("{}\nlive bytes by {dimension}\n\n", run.title());
    let labels = scale.lines();
    out.push_str(&format!(
        "{:>width$} {}\n",
        scale.unit.name,
        peak_label(run, column_of(peak.time_ns), columns),
        width = AXIS - 2
    ));
    for row in (0..ROWS).rev() {
        let here = |height: f64| (height * ROWS as f64).round() as usize == row + 1;
        let label = labels.iter().find(|(_, height)| here(*height)).map_or("", |(label, _)| label);
        out.push_str(&format!(
            "{label:>width$} {}",
            if label.is_empty() { '\u{2502}' } else { '\u{2524}' },
            width = AXIS - 2
        ));
        let mut line = String::new();
        for slot in &shown {
            // A cell displays the band at its middle.
            let height = (row as f64 + 0.5) / ROWS as f64;
            let band = slot.and_then(|index| {
                let mut below = 0u64;
                order.iter().copied().find(|band| {
                    below = below.saturating_add(curve.bands[*band].bytes[index]);
                    scale.at(below) >= height
                })
            });
            match band {
                None => line.push(' '),
                Some(band) if terminal.colours => {
                    let rgb = colours.colour(dimension, &curve.bands[band].name, band);
                    line.push_str(&format!("\u{1b}[38;2;{};{};{}m\u{2588}\u{1b}[0m", rgb.0, rgb.1, rgb.2));
                }
                Some(band) => line.push(SHADES[band.min(MOST_BANDS)]),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out.push_str(&format!("{:>width$} \u{2514}{}\n", "0", "\u{2500}".repeat(columns), width = AXIS - 2));
    out.push_str(&time_axis(end, columns, &column_of));
    out.push('\n');
    out.push_str(&legend(run, dimension, &curve.bands, terminal, &colours));
    out
}

/// An arrow at the column of the peak, with a label on the side that has room. Without room the label stands above it.
fn peak_label(run: &Run, column: usize, columns: usize) -> String {
    let peak = &run.timeline.peak;
    if peak.live_bytes == 0 {
        return String::new();
    }
    let label = format!("peak {} at {}", size(peak.live_bytes), time(peak.time_ns));
    let length = label.chars().count() + 1;
    if column + 1 + length <= columns {
        format!("{}\u{25bc} {label}", " ".repeat(column + 1))
    } else if column >= length {
        format!("{}{label} \u{25bc}", " ".repeat(column + 1 - length))
    } else {
        format!(" {label}\n{}\u{25bc}", " ".repeat(AXIS + column))
    }
}

/// The labels of the horizontal axis, as far as they do not overlap.
fn time_axis(end: u64, columns: usize, column_of: &dyn Fn(u64) -> usize) -> String {
    let (ticks, unit) = time_ticks(0, end, columns / 12);
    let mut line: Vec<char> = vec![' '; AXIS + columns + 8];
    let mut free_from = 0;
    for (ns, label) in ticks {
        let text = if ns == 0 { format!("0 {unit}") } else { label };
        let start = (AXIS + column_of(ns)).saturating_sub(if ns == 0 { 0 } else { text.len() / 2 });
        if start >= free_from && start + text.len() <= AXIS + columns {
            for (offset, character) in text.chars().enumerate() {
                line[start + offset] = character;
            }
            free_from = start + text.len() + 1;
        }
    }
    format!("{}\n", line.into_iter().collect::<String>().trim_end())
}

/// One line for each band.
fn legend(run: &Run, dimension: Dimension, bands: &[Band], terminal: Terminal, colours: &Colours) -> String {
    let live = run.timeline.peak.live_bytes;
    let mut out = format!("  at the peak, {}:\n", size(live));
    let room = terminal.width.saturating_sub(LEGEND).max(SHORTEST_NAME);
    let names = bands.iter().map(|band| shortened(&shown(&name_in(dimension, &band.name)), room));
    let names: Vec<String> = names.collect();
    let widest = names.iter().map(|name| display_width(name)).max().unwrap_or(0);
    for (rank, (band, name)) in bands.iter().zip(&names).enumerate() {
        let shade = if terminal.colours {
            let rgb = colours.colour(dimension, &band.name, rank);
            format!("\u{1b}[38;2;{};{};{}m\u{2588}\u{2588}\u{1b}[0m", rgb.0, rgb.1, rgb.2)
        } else {
            SHADES[rank.min(MOST_BANDS)].to_string().repeat(2)
        };
        out.push_str(&format!(
            "  {shade} {name}{}  {:>12}  {:>7}\n",
            " ".repeat(widest - display_width(name)),
            size(band.at_peak),
            share(band.at_peak, live)
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;

    #[test]
    fn the_chart_fits_the_width_it_is_given() {
        let run = Run::new("x", tiny());
        for width in [40, 80, 133] {
            let text = chart(&run, Dimension::Category, Terminal { width, colours: false });
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{widest:?} in {width}\n{text}");
        }
    }

    #[test]
    fn a_run_without_anything_still_has_axes() {
        let mut timeline = tiny();
        timeline.series = Default::default();
        timeline.peak = Default::default();
        timeline.duration_ns = 0;
        timeline.steps.clear();
        let text = chart(&Run::new("x", timeline), Dimension::Phase, Terminal { width: 80, colours: true });
        assert!(text.contains("at the peak, 0 B"), "{text}");
    }
}
