//! What charts over the steps of an axis have in common: the frame, the names of the steps, what is said of both axes.
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

use super::look::{self, Area, BELOW, TOP, Titles};

/// Pixels of the frame of such a chart, from its upper to its lower border.
pub(super) const HEIGHT: u32 = 420;

/// A chart over steps whose values are laid out on the axis `Y`.
pub(super) type OverSteps<'a, 'b, Y> =
    ChartContext<'b, SVGBackend<'a>, Cartesian2d<RangedCoordf64, <Y as AsRangedCoord>::CoordDescType>>;

/// Draws the frame. Step number n lies at n; `axis` is the one on the left, which begins at `origin`.
pub(super) fn frame<'a, 'b, Y>(
    root: &'b Area<'a>,
    (axis, origin): (Y, f64),
    titles: &Titles,
    steps: &[String],
    legend_width: u32,
) -> Result<OverSteps<'a, 'b, Y>, Box<dyn std::error::Error>>
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let last = steps.len().max(1) as f64 - 0.5;
    let mut chart = ChartBuilder::on(root)
        .margin_top(TOP)
        .margin_right(legend_width)
        .margin_left(10)
        .x_label_area_size(BELOW)
        .y_label_area_size(72)
        .build_cartesian_2d(-0.5..last, axis)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(0)
        .x_desc(&titles.below)
        .y_desc(&titles.left)
        .y_label_formatter(&|value| look::number(*value))
        .label_style(look::letters())
        .draw()?;
    for (step, name) in steps.iter().enumerate() {
        let (x, y) = chart.backend_coord(&(step as f64, origin));
        look::below(root, (x, y + 8), name)?;
    }
    Ok(chart)
}
