//! What all charts have in common: colours, letters, titles, the legend and the scale.
use alloc_timeline::Category;
use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// A colour.
pub(crate) type Colour = RGBColor;
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Okabe and Ito's colours, which people with the common kinds of colour blindness can tell apart.
pub(crate) const COLOURS: [Colour; 8] = [
    RGBColor(0, 0, 0),
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
    RGBColor(90, 79, 160),
];

/// The colour of a category: the viewer's.
pub(crate) fn of_category(category: Category) -> Colour {
    match category {
        Category::Parameter => COLOURS[1],
        Category::Buffer => COLOURS[7],
        Category::Gradient => COLOURS[3],
        Category::Activation => COLOURS[2],
        Category::OptimizerState => COLOURS[4],
        Category::Input => RGBColor(240, 228, 66),
        Category::Workspace => COLOURS[5],
        Category::Metadata => COLOURS[6],
        Category::Runtime => RGBColor(128, 132, 138),
        Category::Other => RGBColor(184, 188, 194),
    }
}

/// Width of every chart in pixels.
pub(super) const WIDTH: u32 = 960;
/// Room for the title above the plot.
pub(super) const TOP: u32 = 44;
/// Room for the lower axis.
pub(super) const BELOW: u32 = 52;
/// Distance of two lines of a legend, and of two rows.
pub(super) const LINE: i32 = 22;
const FONT: &str = "sans-serif";
const TEXT: f64 = 13.0;
const GREY: Colour = RGBColor(90, 90, 90);

/// What a chart shows, in words.
#[derive(Clone, Debug)]
pub(crate) struct Titles {
    pub(crate) title: String,
    /// The lower axis, with its unit.
    pub(crate) below: String,
    /// The axis on the left, with its unit. Empty where names stand there.
    pub(crate) left: String,
}

/// One part of a stack: its name, its colour, and a value for each place.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) colour: Colour,
    pub(crate) values: Vec<f64>,
}

/// An SVG of this height, with its title; `draw` draws the rest.
pub(super) fn picture(height: u32, title: &str, draw: impl FnOnce(&Area<'_>) -> Drawn) -> Result<String> {
    let mut svg = String::new();
    let drawn = || -> Drawn {
        let root = SVGBackend::with_string(&mut svg, (WIDTH, height)).into_drawing_area();
        root.fill(&WHITE)?;
        root.draw(&Text::new(title.to_owned(), (16, 14), (FONT, 17).into_font().color(&BLACK)))?;
        draw(&root)?;
        root.present()?;
        Ok(())
    };
    drawn().map_err(|problem| anyhow!("the picture `{title}` cannot be drawn: {problem}"))?;
    Ok(svg)
}

/// The letters of axes.
pub(super) fn letters<'a>() -> TextStyle<'a> {
    (FONT, TEXT).into_font().color(&GREY)
}

/// About how many pixels a text is wide.
pub(super) fn width_of(text: &str) -> u32 {
    (text.chars().count() as f64 * TEXT * 0.56).ceil() as u32
}

/// Text on the left of a point, half of it above the point.
pub(super) fn left_of(root: &Area<'_>, (x, y): (i32, i32), text: &str) -> Drawn {
    let style = letters().pos(Pos::new(HPos::Right, VPos::Center));
    root.draw(&Text::new(text.to_owned(), (x, y), style))?;
    Ok(())
}

/// Text centred below a point.
pub(super) fn below(root: &Area<'_>, (x, y): (i32, i32), text: &str) -> Drawn {
    let style = letters().pos(Pos::new(HPos::Center, VPos::Top));
    root.draw(&Text::new(text.to_owned(), (x, y), style))?;
    Ok(())
}

/// The room that a legend of these names needs on the right.
pub(super) fn legend_width<'a>(names: impl Iterator<Item = &'a str>) -> u32 {
    names.map(width_of).max().map_or(16, |widest| widest + 48)
}

/// Names and colours, one below the other, from `left` on.
pub(super) fn legend<'a>(root: &Area<'_>, left: i32, entries: impl Iterator<Item = (&'a str, Colour)>) -> Drawn {
    for ((name, colour), place) in entries.zip(0..) {
        let y = TOP as i32 + 8 + place * LINE;
        root.draw(&Rectangle::new([(left, y - 6), (left + 14, y + 6)], colour.filled()))?;
        let style = letters().color(&BLACK).pos(Pos::new(HPos::Left, VPos::Center));
        root.draw(&Text::new(name.to_owned(), (left + 22, y), style))?;
    }
    Ok(())
}

/// A number on an axis: as short as it can be.
pub(super) fn number(value: f64) -> String {
    let magnitude = value.abs();
    match magnitude {
        _ if magnitude >= 100.0 || value == 0.0 => format!("{value:.0}"),
        _ if magnitude >= 10.0 => trimmed(format!("{value:.1}")),
        _ if magnitude >= 1.0 => trimmed(format!("{value:.2}")),
        _ => trimmed(format!("{value:.4}")),
    }
}

/// Without zeroes behind the point.
fn trimmed(text: String) -> String {
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// From this ratio of the most to the least on, an axis that may be logarithmic is.
const WIDE: f64 = 30.0;

/// Whether values from `least` to `most` lie so far apart that their axis should be logarithmic.
pub(super) fn is_wide(least: f64, most: f64) -> bool {
    least > 0.0 && most / least > WIDE
}

/// The powers of ten around all values.
pub(super) fn powers_of_ten(least: f64, most: f64) -> (f64, f64) {
    (10f64.powf(least.log10().floor()), 10f64.powf(most.log10().ceil()))
}

/// A little more than the largest value, so that nothing touches the frame. Of no value, 1.
pub(super) fn top(values: impl Iterator<Item = f64>) -> f64 {
    let most = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    if most > 0.0 { most * 1.08 } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(
            [0.0, 0.05, 0.25, 1.5, 2.0, 12.25, 512.3].map(number),
            ["0", "0.05", "0.25", "1.5", "2", "12.2", "512"]
        );
    }

    #[test]
    fn the_scale_ends_above_the_largest() {
        assert_eq!(top([1.0, 100.0, f64::NAN].into_iter()), 108.0);
        assert_eq!(top(std::iter::empty()), 1.0);
    }
}
