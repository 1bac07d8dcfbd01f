//! Parts that add up, one column for each step of an axis.
use anyhow::Result;
use plotters::prelude::*;

use super::look::{self, Part, Titles, WIDTH};
use super::steps::{self, HEIGHT};

/// Half of a column's width, as a part of the distance of two.
const HALF: f64 = 0.32;

/// The chart. `names` are those of the steps of the lower axis; each part has a value for each.
pub(crate) fn columns(titles: &Titles, names: &[String], parts: &[Part]) -> Result<String> {
    look::picture(HEIGHT, &titles.title, |root| {
        let legend_width = look::legend_width(parts.iter().map(|part| part.name.as_str()));
        let total = |step: usize| parts.iter().map(|part| part.values[step]).sum::<f64>();
        let most = look::top((0..names.len()).map(total));
        let mut chart = steps::frame(root, (0.0..most, 0.0), titles, names, legend_width)?;
        for step in 0..names.len() {
            let place = step as f64;
            let mut bottom = 0.0;
            for part in parts {
                let top = bottom + part.values[step];
                let corners = [(place - HALF, bottom), (place + HALF, top)];
                chart.draw_series([Rectangle::new(corners, part.colour.filled())])?;
                bottom = top;
            }
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
    fn a_rectangle_for_each_part_of_each_column() {
        let titles = Titles { title: "T".to_owned(), below: "batch".to_owned(), left: "MiB".to_owned() };
        let part = |name: &str, colour| Part { name: name.to_owned(), colour, values: vec![1.0, 2.0] };
        let parts = [part("parameter", COLOURS[1]), part("activation", COLOURS[2])];
        let svg = columns(&titles, &["1".to_owned(), "2".to_owned()], &parts).expect("drawn");
        // The background, a square in the legend and a rectangle in each of two columns for each part.
        assert_eq!(svg.matches("<rect").count(), 1 + 2 + 4, "{svg}");
        assert!(svg.find("activation") < svg.find("parameter"), "what lies on top is named on top");
    }
}
