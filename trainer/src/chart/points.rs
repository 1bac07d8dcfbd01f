//! Quantities over a quantity: dots of several series, each joined by a line in the order of its dots.
use anyhow::Result;
use plotters::prelude::*;

use super::look::{self, BELOW, COLOURS, TOP, Titles, WIDTH};
use super::steps::HEIGHT;

/// One series: its name, and its dots as (below, left).
#[derive(Clone, Debug)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) dots: Vec<(f64, f64)>,
}

/// The chart. Both axes begin at 0.
pub(crate) fn points(titles: &Titles, series: &[Series]) -> Result<String> {
    let dots = || series.iter().flat_map(|one| one.dots.iter());
    let (right, top) = (look::top(dots().map(|dot| dot.0)), look::top(dots().map(|dot| dot.1)));
    look::picture(HEIGHT, &titles.title, |root| {
        let names = || series.iter().map(|one| one.name.as_str());
        let legend_width = look::legend_width(names());
        let mut chart = ChartBuilder::on(root)
            .margin_top(TOP)
            .margin_right(legend_width)
            .margin_left(10)
            .x_label_area_size(BELOW)
            .y_label_area_size(72)
            .build_cartesian_2d(0.0..right, 0.0..top)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc(&titles.below)
            .y_desc(&titles.left)
            .x_label_formatter(&|value| look::number(*value))
            .y_label_formatter(&|value| look::number(*value))
            .label_style(look::letters())
            .draw()?;
        for (one, &colour) in series.iter().zip(COLOURS.iter().cycle()) {
            chart.draw_series(LineSeries::new(one.dots.iter().copied(), colour.stroke_width(1)))?;
            chart.draw_series(one.dots.iter().map(|&dot| Circle::new(dot, 3, colour.filled())))?;
        }
        let entries = names().zip(COLOURS.iter().copied().cycle());
        look::legend(root, (WIDTH - legend_width + 16) as i32, entries)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_for_each_pair_and_a_name_for_each_series() {
        let titles = Titles { title: "T".to_owned(), below: "s".to_owned(), left: "MB".to_owned() };
        let one = Series { name: "revolve".to_owned(), dots: vec![(0.0, 9.0), (2.0, 5.0), (4.0, 4.0)] };
        let svg = points(&titles, &[one]).expect("drawn");
        assert_eq!(svg.matches("<circle").count(), 3, "{svg}");
        assert!(svg.contains("revolve") && svg.contains("MB"), "{svg}");
    }
}
