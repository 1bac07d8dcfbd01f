//! The timeline as a picture: live bytes over time as a stack of bands, the resident set as a line, and a mark at the peak.
//!
//! ```text
//!  title
//!  subtitle
//!  marks  . . . . .                          legend
//!  +--------------------------------------+  RSS
//!  |        peak o-- label                |  band 1
//!  |      /\/|    (bands)                 |  band 2
//!  +--------------------------------------+  ...
//!  time labels
//!  strip: which phase was growing when
//! ```
mod layout;

mod axes;
mod bands;
mod labels;

mod rss;

use alloc_timeline::Dimension;

use crate::analysis::curve;
use crate::model::{Run, size};
use crate::view::ink::STYLE;
use crate::view::palette::Colours;
use crate::view::scale::Scale;
use crate::view::svg::Svg;
use crate::view::timeline::layout::{HEIGHT, PlotArea, WIDTH};

pub use rss::rss_svg;

/// Number of columns into which the instants are gathered before they are drawn. A column is about two pixels wide.
const COLUMNS: usize = 420;
/// Number of bands without the rest: the legend has no room for more.
const MOST_BANDS: usize = 11;

/// The picture, with bands split by `dimension`.
pub fn timeline_svg(run: &Run, dimension: Dimension, colours: &Colours) -> String {
    let timeline = &run.timeline;
    let whole = curve(timeline, dimension, MOST_BANDS);
    let thin = whole.thinned(COLUMNS);
    let highest = |values: &[u64]| values.iter().copied().max().unwrap_or(0);
    let rss = thin.rss.iter().map(|point| point.1).max().unwrap_or(0);
    let most = highest(&thin.total).max(highest(&thin.high)).max(rss).max(timeline.peak.live_bytes);
    let area = PlotArea {
        end_ns: timeline.duration_ns.max(whole.span().1).max(timeline.peak.time_ns),
        // A sixteenth more leaves room for the label of the peak.
        scale: Scale::bytes(most.saturating_add(most / 16), 9),
        below: 0.0,
    };
    let mut svg = Svg::new(WIDTH, HEIGHT, &format!("Live bytes over time: {}", run.title()), STYLE);
    svg.element("rect", format_args!("class=\"tl-bg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\""));
    labels::heading(&mut svg, run, dimension);
    axes::grid(&mut svg, &area);
    bands::stack(&mut svg, &area, &thin, colours);
    axes::steps(&mut svg, &area, run);
    bands::rss_line(&mut svg, &area, &thin);
    bands::tips(&mut svg, &area, &whole, |index| format!("{} live", size(whole.total[index])));
    axes::marks(&mut svg, &area, run);
    labels::peak(&mut svg, &area, run);
    axes::growing_phases_strip(&mut svg, &area, run, colours);
    labels::legend(&mut svg, run, &thin, colours);
    svg.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;
    use crate::view::timeline::layout::{LEFT, PLOT_WIDTH};

    /// A run of six samples: the mouse is told something wherever it is between the two ends.
    #[test]
    fn the_columns_with_tips_leave_no_gap_in_a_short_run() {
        let svg = timeline_svg(&Run::new("x", tiny()), Dimension::Category, &Colours::of([]));
        let number = |line: &str, name: &str| -> f64 {
            let (_, rest) = line.split_once(&format!(" {name}=\"")).expect("an attribute");
            rest.split('"').next().and_then(|number| number.parse().ok()).expect("a number")
        };
        let columns = svg.lines().filter(|line| line.starts_with("<rect x=") && line.contains("fill-opacity=\"0\""));
        let columns: Vec<(f64, f64)> = columns.map(|line| (number(line, "x"), number(line, "width"))).collect();
        assert_eq!(columns.len(), 7, "the samples, and the peak between two of them");
        let mut reached = LEFT;
        for (x, width) in columns {
            assert!((x - reached).abs() < 0.2, "a gap from {reached} to {x}");
            reached = x + width;
        }
        assert!((reached - LEFT - PLOT_WIDTH).abs() < 0.2, "{reached}");
    }
}
