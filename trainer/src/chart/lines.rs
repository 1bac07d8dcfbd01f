//! Quantities over the steps of an axis: a line each, with a bar where a value has an interval.
use anyhow::Result;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use super::look::{self, Area, COLOURS, Drawn, Titles, WIDTH};
use super::steps::{self, HEIGHT};

/// A value and the interval in which it lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dot {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// One line: its name, and a value for each step of the axis that has one.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) dots: Vec<Option<Dot>>,
}

/// How values are laid out on the axis on the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// From 0 on, so that slopes can be compared.
    Linear,
    /// Logarithmic when the values lie far apart, and the axis then says so.
    Fitting,
}

/// The chart. `steps` are the names of the places on the lower axis; each line has a dot or none for each.
pub(crate) fn lines(titles: &Titles, scale: Scale, steps: &[String], lines: &[Line]) -> Result<String> {
    let dots = || lines.iter().flat_map(|line| line.dots.iter().flatten());
    let least = dots().map(|dot| dot.low.min(dot.value)).fold(f64::INFINITY, f64::min);
    let most = look::top(dots().map(|dot| dot.high.max(dot.value)));
    look::picture(HEIGHT, &titles.title, |root| {
        if scale == Scale::Fitting && look::is_wide(least, most) {
            let titles = Titles { left: format!("{}, logarithmic", titles.left), ..titles.clone() };
            let (low, high) = look::powers_of_ten(least, most);
            draw(root, (low..high).log_scale(), low, &titles, steps, lines)
        } else {
            draw(root, 0.0..most, 0.0, titles, steps, lines)
        }
    })
}

fn draw<Y>(root: &Area<'_>, axis: Y, origin: f64, titles: &Titles, steps: &[String], lines: &[Line]) -> Drawn
where
    Y: AsRangedCoord<Value = f64>,
    Y::CoordDescType: ValueFormatter<f64>,
{
    let names = || lines.iter().map(|line| line.name.as_str());
    let legend_width = look::legend_width(names());
    let mut chart = steps::frame(root, (axis, origin), titles, steps, legend_width)?;
    for (line, &colour) in lines.iter().zip(COLOURS.iter().cycle()) {
        let dots = line.dots.iter().enumerate().filter_map(|(step, dot)| Some((step as f64, (*dot)?)));
        let dots: Vec<(f64, Dot)> = dots.collect();
        let path: Vec<(f64, f64)> = dots.iter().map(|(x, dot)| (*x, dot.value)).collect();
        chart.draw_series(LineSeries::new(path.iter().copied(), colour.stroke_width(2)))?;
        chart.draw_series(path.iter().map(|&point| Circle::new(point, 3, colour.filled())))?;
        chart.draw_series(
            dots.iter()
                .filter(|(_, dot)| dot.high > dot.low)
                .map(|&(x, dot)| PathElement::new([(x, dot.low), (x, dot.high)], colour.stroke_width(1))),
        )?;
    }
    let entries = names().zip(COLOURS.iter().copied().cycle());
    look::legend(root, (WIDTH - legend_width + 16) as i32, entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_and_both_units_are_there() {
        let titles = Titles { title: "T <1>".to_owned(), below: "batch".to_owned(), left: "ms".to_owned() };
        let dot = |value| Some(Dot { value, low: value - 1.0, high: value + 1.0 });
        let line = Line { name: "resnet18".to_owned(), dots: vec![dot(5.0), None, dot(9.0)] };
        let svg = lines(&titles, Scale::Fitting, &["1", "2", "4"].map(str::to_owned), &[line]).expect("drawn");
        for text in ["T &lt;1&gt;", "batch", "ms", "resnet18", "polyline"] {
            assert!(svg.contains(text), "{text} is missing in {svg}");
        }
        assert_eq!(svg.matches("<circle").count(), 2, "a dot for each value");
    }

    #[test]
    fn values_that_lie_far_apart_have_a_logarithmic_axis() {
        let titles = Titles { title: "T".to_owned(), below: "batch".to_owned(), left: "ms".to_owned() };
        let dot = |value| Some(Dot { value, low: value, high: value });
        let line = Line { name: "a".to_owned(), dots: vec![dot(1.0), dot(90.0)] };
        let drawn = |scale| {
            lines(&titles, scale, &["1".to_owned(), "2".to_owned()], std::slice::from_ref(&line)).expect("drawn")
        };
        assert!(drawn(Scale::Fitting).contains("ms, logarithmic"));
        assert!(!drawn(Scale::Linear).contains("logarithmic"));
    }

    #[test]
    fn nothing_to_draw_is_an_empty_plot() {
        let titles = Titles { title: "T".to_owned(), below: "batch".to_owned(), left: "ms".to_owned() };
        assert!(lines(&titles, Scale::Linear, &[], &[]).is_ok_and(|svg| svg.contains("batch")));
    }
}
