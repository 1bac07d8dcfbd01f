//! Who costs memory, beside who costs time: one row for each layer and each operation. Bytes at the peak grow to the left of
//! the name, self time to its right.
//!
//! ```text
//!  title
//!  legend: categories                     legend: forward, backward, other
//!        20 MiB      10        0                0       5      10 ms
//!                [#########====]     conv1     [########====]
//!                         [==##]      bn1      [##=]
//! ```
mod rows;

use crate::analysis::{Cost, Costs, costs};
use crate::model::Run;
use crate::view::cost::rows::{LEGEND, Panel, panel, panel_height};
use crate::view::ink::STYLE;
use crate::view::svg::{Coordinate, Svg};
use crate::view::words::self_time::basis_words;

const WIDTH: f64 = 1200.0;
const LEFT: f64 = 24.0;
/// Height of the title, between two panels, and below the last one.
const TITLE: f64 = 66.0;
const GAP: f64 = 26.0;
const BOTTOM: f64 = 14.0;
/// The most layers and operations; the cheapest of more are one row.
const MOST_LAYERS: usize = 96;
const MOST_OPERATIONS: usize = 14;

/// The picture; `None` for a run whose times were not measured.
pub fn cost_svg(run: &Run) -> Option<String> {
    let costs = costs(&run.timeline).ok()?;
    let layers = cheapest_joined(&costs.layers, MOST_LAYERS);
    let operations = cheapest_joined(&costs.operations, MOST_OPERATIONS);
    let heights = [&layers, &operations].map(|rows| panel_height(rows.len()));
    let height = TITLE + LEGEND + heights.iter().sum::<f64>() + GAP + BOTTOM;
    let mut svg = Svg::new(WIDTH, height, &format!("Who costs memory, who costs time: {}", run.title()), STYLE);
    svg.element(
        "rect",
        format_args!("class=\"tl-bg\" width=\"{WIDTH}\" height=\"{}\" fill=\"#fff\"", Coordinate(height)),
    );
    svg.heading(LEFT, &run.title(), &subtitle(&costs));
    rows::legend(&mut svg, TITLE, &costs);
    let top = TITLE + LEGEND;
    let names = "by layer, in the order of the forward pass";
    panel(&mut svg, &Panel { top, names, rows: &layers, basis: costs.basis });
    let names = "by operation, forward and backward together";
    panel(&mut svg, &Panel { top: top + heights[0] + GAP, names, rows: &operations, basis: costs.basis });
    Some(svg.finish())
}

fn subtitle(costs: &Costs) -> String {
    format!("Left: bytes at the peak, by category. Right: self time {}.", basis_words(&costs.basis))
}

/// At most so many rows in their order, and the others, which cost least of memory and of time, as one row at the end.
fn cheapest_joined(all: &[Cost], most: usize) -> Vec<Cost> {
    let sum = |number: fn(&Cost) -> u64| all.iter().map(number).fold(0, u64::saturating_add).max(1) as f64;
    let (bytes, ns) = (sum(Cost::bytes), sum(|cost| cost.time.self_ns));
    let share = |cost: &Cost| (cost.bytes() as f64 / bytes).max(cost.time.self_ns as f64 / ns);
    if all.len() <= most {
        return all.to_vec();
    }
    let mut dearest: Vec<usize> = (0..all.len()).collect();
    dearest.sort_by(|&a, &b| share(&all[b]).total_cmp(&share(&all[a])));
    let kept = &dearest[..most - 1];
    let mut rows: Vec<Cost> =
        (0..all.len()).filter(|index| kept.contains(index)).map(|index| all[index].clone()).collect();
    let mut rest = Cost { name: format!("rest ({})", all.len() - kept.len()), ..Cost::default() };
    dearest[most - 1..].iter().for_each(|&index| rest.add(&all[index]));
    rows.push(rest);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::{tiny, with_step_times};
    use crate::view::palette::category_colour;

    #[test]
    fn bytes_and_times_are_drawn_for_layers_and_operations() {
        let svg = cost_svg(&Run::new("x", with_step_times(tiny(), 5))).expect("times");
        for text in ["conv1", "layer1.0.bn1", "convolution", "batch norm", "the mean of steps 4 to 5", "no layer"] {
            assert!(svg.contains(text), "{text}\n{svg}");
        }
        assert!(svg.contains(&category_colour("gradient").to_string()));
        assert!(svg.contains("conv1: forward 0.60 ms"), "{svg}");
        assert_eq!(cost_svg(&Run::new("x", tiny())), None);
    }

    #[test]
    fn the_cheapest_are_one_row_and_nothing_is_lost() {
        let cost = |index: u64| Cost {
            name: index.to_string(),
            by_category: vec![("activation".to_owned(), index)],
            ..Cost::default()
        };
        let all: Vec<Cost> = (1..=10).map(cost).collect();
        let rows = cheapest_joined(&all, 4);
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(names, ["8", "9", "10", "rest (7)"]);
        assert_eq!(rows.iter().map(Cost::bytes).sum::<u64>(), 55);
    }
}
