//! Parts that add up, over a quantity such as time: areas that lie on each other.
use anyhow::Result;
use plotters::prelude::*;

use super::look::{self, BELOW, Part, TOP, Titles, WIDTH};
use super::steps::HEIGHT;

/// The chart. `places` rise from left to right; each part has a value for each, and the first lies lowest.
pub(crate) fn areas(titles: &Titles, places: &[f64], parts: &[Part]) -> Result<String> {
    let (left, right) = (places.first().copied().unwrap_or(0.0), places.last().copied().unwrap_or(1.0));
    let total = |place: usize| parts.iter().map(|part| part.values[place]).sum::<f64>();
    let most = look::top((0..places.len()).map(total));
    look::picture(HEIGHT, &titles.title, |root| {
        let legend_width = look::legend_width(parts.iter().map(|part| part.name.as_str()));
        let mut chart = ChartBuilder::on(root)
            .margin_top(TOP)
            .margin_right(legend_width)
            .margin_left(10)
            .x_label_area_size(BELOW)
            .y_label_area_size(72)
            .build_cartesian_2d(left..right.max(left + f64::EPSILON), 0.0..most)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc(&titles.below)
            .y_desc(&titles.left)
            .x_label_formatter(&|value| look::number(*value))
            .y_label_formatter(&|value| look::number(*value))
            .label_style(look::letters())
            .draw()?;
        let mut below = vec![0.0; places.len()];
        for part in parts {
            let above: Vec<f64> = below.iter().zip(&part.values).map(|(below, value)| below + value).collect();
            let upper = places.iter().copied().zip(above.iter().copied());
            let lower = places.iter().copied().zip(below.iter().copied()).rev();
            chart.draw_series([Polygon::new(upper.chain(lower).collect::<Vec<_>>(), part.colour.filled())])?;
            below = above;
        }
        // The uppermost part stands first in the legend too.
        let entries = parts.iter().rev().map(|part| (part.name.as_str(), part.colour));
        look::legend(root, (WIDTH - legend_width + 16) as i32, entries)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::COLOURS;

    #[test]
    fn an_area_for_each_part() {
        let titles = Titles { title: "T".to_owned(), below: "s".to_owned(), left: "MiB".to_owned() };
        let part = |name: &str, colour| Part { name: name.to_owned(), colour, values: vec![1.0, 3.0, 2.0] };
        let parts = [part("parameter", COLOURS[1]), part("activation", COLOURS[2])];
        let svg = areas(&titles, &[0.0, 1.0, 2.5], &parts).expect("drawn");
        assert_eq!(svg.matches("<polygon").count(), 2, "{svg}");
        assert!(svg.find("activation") < svg.find("parameter"), "what lies on top is named on top");
        assert!(areas(&titles, &[], &[]).is_ok(), "nothing to draw is an empty plot");
    }
}
