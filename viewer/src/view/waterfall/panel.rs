//! A block of the picture: names, numbers, and the bars on one or two scales.
use crate::model::{MemoryKind, UNEXPLAINED, shortened};
use crate::view::ink::{AXIS, DIM, GRID, INK};
use crate::view::palette::{Rgb, memory_colour};
use crate::view::scale::byte_ticks;
use crate::view::svg::{Coordinate, Svg};
use crate::view::waterfall::rows::{Look, Row, enlarged, extent};
use crate::view::words::account::{signed_share, signed_size};

/// Height of a row, and of the bar in it.
pub(super) const ROW: f64 = 24.0;
const BAR: f64 = 15.0;
/// Height of the heading above the rows.
const HEAD: f64 = 38.0;
/// Right ends of the names, of the sizes and of the shares.
const NAMES: f64 = 270.0;
const SIZES: f64 = 384.0;
const SHARES: f64 = 450.0;
/// The left end of the bars, their right end, and the room between two scales.
const BARS: f64 = 468.0;
const RIGHT: f64 = 1176.0;
const GAP: f64 = 36.0;
/// The part of the room that the first of two scales gets.
const FIRST: f64 = 0.36;
/// Characters of a name.
const LONGEST_NAME: usize = 34;
/// Characters of a reason.
const LONGEST_REASON: usize = 100;
/// The shortest bar, so that a line of a few bytes can be seen.
const SHORTEST: f64 = 1.5;
const STEP_COLOUR: Rgb = Rgb(110, 140, 165);
const TOTAL_COLOUR: Rgb = Rgb(128, 132, 138);

/// A scale: where bytes lie between two ends.
struct Panel {
    from: i128,
    to: i128,
    left: f64,
    right: f64,
}

impl Panel {
    /// The place of `bytes`; beyond an end, it is that end.
    fn x(&self, bytes: i128) -> f64 {
        let part = (bytes - self.from) as f64 / (self.to - self.from).max(1) as f64;
        self.left + (self.right - self.left) * part.clamp(0.0, 1.0)
    }

    fn cuts_off(&self, bytes: i128) -> bool {
        bytes < self.from
    }
}

/// Draws a block whose upper end is at `top`.
pub(super) fn block(svg: &mut Svg, top: f64, heading: &str, rows: &[Row]) {
    svg.text(24.0, top + 14.0, format_args!("{INK} font-size=\"14\" font-weight=\"bold\""), heading);
    let (from, to) = extent(rows);
    let panels = match enlarged(rows) {
        None => vec![Panel { from, to, left: BARS, right: RIGHT }],
        Some((low, high)) => {
            let first = BARS + (RIGHT - BARS - GAP) * FIRST;
            vec![
                Panel { from, to, left: BARS, right: first },
                Panel { from: low, to: high, left: first + GAP, right: RIGHT },
            ]
        }
    };
    let (upper, lower) = (top + HEAD, top + HEAD + ROW * rows.len() as f64);
    if let [whole, part] = panels.as_slice() {
        let wider = (part.right - part.left) / (whole.right - whole.left) * (to - from) as f64
            / (part.to - part.from).max(1) as f64;
        let text = format!("the same, enlarged {wider:.1} times");
        svg.text(part.left, top + 30.0, format_args!("{DIM} font-size=\"12\""), &text);
        svg.text(whole.left, top + 30.0, format_args!("{DIM} font-size=\"12\""), "all");
    }
    for panel in &panels {
        axis(svg, panel, upper, lower);
    }
    // Shares are of the last sum that is known.
    // The account of swap, which may follow, is not the whole.
    let whole = rows.iter().filter(|row| row.look == Look::Total && row.bytes.is_some()).max_by_key(|row| row.bytes);
    if let Some(whole) = whole {
        let attributes = format_args!("{DIM} font-size=\"12\" text-anchor=\"end\"");
        svg.text(SHARES, top + 30.0, attributes, &format!("of {}", shortened(&whole.name, LONGEST_NAME)));
    }
    let whole = whole.and_then(|row| row.bytes).unwrap_or(0);
    for (index, row) in rows.iter().enumerate() {
        let y = upper + ROW * index as f64;
        texts(svg, y, row, whole);
        let next = rows.get(index + 1).filter(|next| next.look != Look::Total).and_then(|next| next.bar);
        for panel in &panels {
            bar(svg, panel, y, row, next.is_some());
        }
    }
}

/// Lines with labels below.
fn axis(svg: &mut Svg, panel: &Panel, upper: f64, lower: f64) {
    let bytes = |bytes: i128| u64::try_from(bytes.max(0)).unwrap_or(u64::MAX);
    let count = ((panel.right - panel.left) / 60.0) as usize;
    let (ticks, unit) = byte_ticks(bytes(panel.from), bytes(panel.to), count);
    for (index, (at, label)) in ticks.iter().enumerate() {
        let x = Coordinate(panel.x(i128::from(*at)));
        svg.element("path", format_args!("{GRID} d=\"M{x} {}V{}\"", Coordinate(upper), Coordinate(lower + 4.0)));
        let label = if index == 0 { format!("{label} {unit}") } else { label.clone() };
        let attributes = format_args!("{DIM} font-size=\"11\" text-anchor=\"middle\"");
        svg.text(panel.x(i128::from(*at)), lower + 18.0, attributes, &label);
    }
}

/// The name, the size and the share of a row, or the reason why it has none.
fn texts(svg: &mut Svg, y: f64, row: &Row, whole: i64) {
    let base = y + 16.5;
    let weight = if row.look == Look::Total { " font-weight=\"bold\"" } else { "" };
    let end = "font-size=\"13\" text-anchor=\"end\"";
    svg.text(NAMES, base, format_args!("{INK} {end}{weight}"), &shortened(&row.name, LONGEST_NAME));
    let Some(bytes) = row.bytes else {
        let reason = row.tip.split_once(": ").map_or("unavailable", |tip| tip.1);
        svg.text(NAMES + 16.0, base, format_args!("{DIM} font-size=\"12\""), &shortened(reason, LONGEST_REASON));
        return;
    };
    svg.text(SIZES, base, format_args!("{INK} {end}{weight}"), &signed_size(bytes));
    let share = signed_share(bytes, u64::try_from(whole).unwrap_or(0));
    svg.text(SHARES, base, format_args!("{DIM} font-size=\"12\" text-anchor=\"end\""), &share);
}

/// The bar of a row, and a line down to the row that goes on where it ends.
fn bar(svg: &mut Svg, panel: &Panel, y: f64, row: &Row, goes_on: bool) {
    let Some((from, to)) = row.bar else { return };
    let top = y + (ROW - BAR) / 2.0;
    let (a, b) = (panel.x(from), panel.x(to));
    if goes_on {
        // Where there is no bar, the line goes through its row.
        let (start, length) = if from == to { (top, ROW) } else { (top + BAR, ROW - BAR) };
        let line = format!("d=\"M{} {}v{}\"", Coordinate(b), Coordinate(start), Coordinate(length));
        svg.element("path", format_args!("{AXIS} stroke-opacity=\"0.55\" {line}"));
    }
    let (low, high) = (from.min(to), from.max(to));
    // A line without bytes has no bar, and neither has one that lies before the scale begins.
    if low == high || panel.cuts_off(high) {
        return;
    }
    let colour = match row.look {
        Look::Line(kind) => memory_colour(kind),
        Look::Step if row.name == UNEXPLAINED => memory_colour(MemoryKind::Unexplained),
        Look::Step => STEP_COLOUR,
        Look::Total => TOTAL_COLOUR,
    };
    let width = (a - b).abs().max(SHORTEST);
    let left = a.min(b).min(panel.right - width);
    let place = format!("x=\"{}\" y=\"{}\"", Coordinate(left), Coordinate(top));
    svg.with_tip(
        "rect",
        format_args!("{place} width=\"{}\" height=\"{BAR}\" fill=\"{colour}\"", Coordinate(width)),
        &row.tip,
    );
    if panel.cuts_off(low) && panel.from > 0 {
        // Two light strokes: the bar begins before this scale does.
        for offset in [6.0, 11.0] {
            let x = Coordinate(left + offset);
            let stroke = format_args!("stroke=\"#fff\" stroke-width=\"2\" d=\"M{x} {}l-4 {BAR}\"", Coordinate(top));
            svg.element("path", stroke);
        }
    }
    if to < from {
        // A bar that leads back is hatched with light lines, so that its direction is not a matter of colour alone.
        let lines = (1..).map(|index| left + 4.0 * f64::from(index)).take_while(|x| *x < left + width - 1.0);
        let path: Vec<String> = lines.map(|x| format!("M{} {}v{BAR}", Coordinate(x), Coordinate(top))).collect();
        if !path.is_empty() {
            let path = path.join("");
            svg.element("path", format_args!("stroke=\"#fff\" stroke-opacity=\"0.7\" d=\"{path}\""));
        }
    }
}
