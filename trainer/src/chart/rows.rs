//! Parts that add up, one row for each name: names are read where they stand, however many there are.
use anyhow::Result;
use plotters::prelude::*;

use super::look::{self, BELOW, LINE, Part, TOP, Titles, WIDTH};

/// Half of a row's height, as a part of the distance of two.
const HALF: f64 = 0.36;

/// The chart. `names` stand on the left, the first on top; each part has a value for each. `notes` stand at the ends of
/// the rows.
pub(crate) fn rows(titles: &Titles, names: &[String], parts: &[Part], notes: &[String]) -> Result<String> {
    let height = TOP + BELOW + (names.len().max(parts.len()) as u32 + 1) * LINE as u32;
    look::picture(height, &titles.title, |root| {
        let legend_width = look::legend_width(parts.iter().map(|part| part.name.as_str()));
        let left = names.iter().map(|name| look::width_of(name)).max().unwrap_or(0) + 24;
        let total = |row: usize| parts.iter().map(|part| part.values[row]).sum::<f64>();
        // Room for the notes behind the longest row.
        let most = look::top((0..names.len()).map(total)) * if notes.is_empty() { 1.0 } else { 1.12 };
        let last = names.len().max(1) as f64 - 0.5;
        let mut chart = ChartBuilder::on(root)
            .margin_top(TOP)
            .margin_right(legend_width)
            .margin_left(10)
            .x_label_area_size(BELOW)
            .y_label_area_size(left)
            .build_cartesian_2d(0.0..most, last..-0.5)?;
        chart
            .configure_mesh()
            .disable_y_mesh()
            .light_line_style(TRANSPARENT)
            .y_labels(0)
            .x_desc(&titles.below)
            .x_label_formatter(&|value| look::number(*value))
            .label_style(look::letters())
            .draw()?;
        for (row, name) in names.iter().enumerate() {
            let place = row as f64;
            let (x, y) = chart.backend_coord(&(0.0, place));
            look::left_of(root, (x - 8, y), name)?;
            let mut begin = 0.0;
            for part in parts {
                let end = begin + part.values[row];
                let corners = [(begin, place - HALF), (end, place + HALF)];
                chart.draw_series([Rectangle::new(corners, part.colour.filled())])?;
                begin = end;
            }
            if let Some(note) = notes.get(row) {
                let (x, y) = chart.backend_coord(&(begin, place));
                look::left_of(root, (x + 8 + look::width_of(note) as i32, y), note)?;
            }
        }
        let entries = parts.iter().map(|part| (part.name.as_str(), part.colour));
        look::legend(root, (WIDTH - legend_width + 16) as i32, entries)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::COLOURS;

    #[test]
    fn names_notes_and_a_rectangle_for_each_part_of_each_row() {
        let titles = Titles { title: "T".to_owned(), below: "MiB".to_owned(), left: String::new() };
        let part = Part { name: "parameter".to_owned(), colour: COLOURS[1], values: vec![1.0, 2.0] };
        let names = ["resnet18", "lenet5"].map(str::to_owned);
        let svg = rows(&titles, &names, &[part], &["1.0".to_owned(), "2.0".to_owned()]).expect("drawn");
        for text in ["resnet18", "lenet5", "MiB", "1.0", "parameter"] {
            assert!(svg.contains(text), "{text} is missing in {svg}");
        }
        // The background, a square in the legend, two rows.
        assert_eq!(svg.matches("<rect").count(), 1 + 1 + 2, "{svg}");
    }
}
