//! A small writer for SVG. All text of SVG pictures is escaped here.
use std::fmt::{self, Write};

use crate::model::{is_unfit_in_lines, shortened};
use crate::view::ink::{DIM, INK};

/// Characters of a title: the narrowest picture has room for so many.
pub(super) const LONGEST_TITLE: usize = 90;

/// A picture that is being drawn.
#[derive(Debug, Default)]
pub(super) struct Svg {
    out: String,
}

impl Svg {
    /// Begins a picture of this size. Screen readers read `name` out; `style` is CSS.
    pub(super) fn new(width: f64, height: f64, name: &str, style: &str) -> Svg {
        let mut svg = Svg::default();
        svg.push(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
             role=\"img\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n<title>{name}</title>\n\
             <style>{style}</style>\n",
            w = Coordinate(width),
            h = Coordinate(height),
            name = Escaped(name),
        ));
        svg
    }

    /// An element without content. `attributes` are written as they are.
    pub(super) fn element(&mut self, tag: &str, attributes: impl fmt::Display) {
        self.push(format_args!("<{tag} {attributes}/>\n"));
    }

    /// An element that displays `tip` under the mouse.
    pub(super) fn with_tip(&mut self, tag: &str, attributes: impl fmt::Display, tip: &str) {
        self.push(format_args!("<{tag} {attributes}><title>{}</title></{tag}>\n", Escaped(tip)));
    }

    /// A line of text.
    pub(super) fn text(&mut self, x: f64, y: f64, attributes: impl fmt::Display, text: &str) {
        self.push(format_args!(
            "<text x=\"{}\" y=\"{}\" {attributes}>{}</text>\n",
            Coordinate(x),
            Coordinate(y),
            Escaped(text)
        ));
    }

    /// What ran, and a line below that says what the picture shows.
    pub(super) fn heading(&mut self, x: f64, title: &str, line: &str) {
        let font = "font-size=\"20\" font-weight=\"bold\"";
        self.text(x, 30.0, format_args!("{INK} {font}"), &shortened(title, LONGEST_TITLE));
        self.text(x, 52.0, format_args!("{DIM} font-size=\"13\""), line);
    }

    /// Ends the picture and returns its text.
    pub(super) fn finish(mut self) -> String {
        self.out.push_str("</svg>\n");
        self.out
    }

    fn push(&mut self, text: fmt::Arguments<'_>) {
        // Writing into a String cannot fail.
        let _ = self.out.write_fmt(text);
    }
}

/// A coordinate, written with at most one decimal.
pub(super) struct Coordinate(pub(super) f64);

impl fmt::Display for Coordinate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = (self.0 * 10.0).round() as i64;
        if tenths % 10 == 0 {
            return write!(f, "{}", tenths / 10);
        }
        let sign = if tenths < 0 { "-" } else { "" };
        write!(f, "{sign}{}.{}", (tenths / 10).abs(), (tenths % 10).abs())
    }
}

/// Text for XML: escaped, and without the control characters that XML forbids.
pub(super) struct Escaped<'a>(pub(super) &'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                c if is_unfit_in_lines(c) => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        let text = |value: f64| Coordinate(value).to_string();
        assert_eq!([text(1.0), text(1.25), text(-0.04), text(-0.5)], ["1", "1.3", "0", "-0.5"]);
    }

    #[test]
    fn text_cannot_break_out() {
        assert_eq!(Escaped("a<b>&\"\u{1}").to_string(), "a&lt;b&gt;&amp;&quot;\u{fffd}");
    }
}
