//! Box plots, one row for each name: the box reaches from the first to the third quartile, with a line at the median, and
//! the whiskers to the least and the most.
use anyhow::Result;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use super::look::{self, Area, BELOW, COLOURS, Drawn, LINE, TOP, Titles};

/// One row.
#[derive(Clone, Debug)]
pub(crate) struct BoxRow {
    pub(crate) name: String,
    pub(crate) min: f64,
    pub(crate) q1: f64,
    pub(crate) median: f64,
    pub(crate) q3: f64,
    pub(crate) max: f64,
}

/// Half of a box's height, as a part of the distance of two rows.
const HALF: f64 = 0.32;
const RIGHT: u32 = 40;

/// The chart. The lower axis is logarithmic when the values lie far apart, and says so.
pub(crate) fn boxes(titles: &Titles, rows: &[BoxRow]) -> Result<String> {
    let height = TOP + BELOW + (rows.len() as u32 + 1) * LINE as u32;
    let least = rows.iter().map(|row| row.min).fold(f64::INFINITY, f64::min);
    let most = look::top(rows.iter().map(|row| row.max));
    look::picture(height, &titles.title, |root| {
        if look::is_wide(least, most) {
            let desc = format!("{}, logarithmic", titles.below);
            let (low, high) = look::powers_of_ten(least, most);
            draw(root, (low..high).log_scale(), low, &desc, rows)
        } else {
            draw(root, 0.0..most, 0.0, &titles.below, rows)
        }
    })
}

fn draw<X>(root: &Area<'_>, axis: X, origin: f64, desc: &str, rows: &[BoxRow]) -> Drawn
where
    X: AsRangedCoord<Value = f64>,
    X::CoordDescType: ValueFormatter<f64>,
{
    let left = rows.iter().map(|row| look::width_of(&row.name)).max().unwrap_or(0) + 24;
    let last = rows.len().max(1) as f64 - 0.5;
    let mut chart = ChartBuilder::on(root)
        .margin_top(TOP)
        .margin_right(RIGHT)
        .margin_left(10)
        .x_label_area_size(BELOW)
        .y_label_area_size(left)
        .build_cartesian_2d(axis, last..-0.5)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .light_line_style(TRANSPARENT)
        .y_labels(0)
        .x_desc(desc)
        .x_label_formatter(&|value| look::number(*value))
        .label_style(look::letters())
        .draw()?;
    let colour = COLOURS[1];
    for (row, place) in rows.iter().zip(0..) {
        let y = f64::from(place);
        let (x, pixel) = chart.backend_coord(&(origin, y));
        look::left_of(root, (x - 8, pixel), &row.name)?;
        let line = |from: (f64, f64), to: (f64, f64), width| PathElement::new([from, to], colour.stroke_width(width));
        let cap = HALF / 2.0;
        chart.draw_series([
            line((row.min, y), (row.max, y), 1),
            line((row.min, y - cap), (row.min, y + cap), 1),
            line((row.max, y - cap), (row.max, y + cap), 1),
        ])?;
        let corners = [(row.q1, y - HALF), (row.q3, y + HALF)];
        chart.draw_series([
            Rectangle::new(corners, RGBColor(198, 223, 240).filled()),
            Rectangle::new(corners, colour.stroke_width(1)),
        ])?;
        chart.draw_series([line((row.median, y - HALF), (row.median, y + HALF), 3)])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(most: f64) -> String {
        let titles = Titles { title: "T".to_owned(), below: "ms".to_owned(), left: String::new() };
        let row = BoxRow { name: "lenet5".to_owned(), min: 1.0, q1: 2.0, median: 3.0, q3: 4.0, max: most };
        boxes(&titles, &[row]).expect("drawn")
    }

    /// The background, and a filled and a drawn rectangle for the box.
    #[test]
    fn a_box_and_its_name() {
        let svg = drawn(5.0);
        assert_eq!(svg.matches("<rect").count(), 1 + 2, "{svg}");
        assert!(svg.contains("lenet5") && svg.contains("ms") && !svg.contains("logarithmic"), "{svg}");
    }

    #[test]
    fn values_that_lie_far_apart_have_a_logarithmic_axis() {
        assert!(drawn(50.0).contains("ms, logarithmic"));
    }
}
