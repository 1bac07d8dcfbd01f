//! The timeline as a picture: live bytes over time as a stack of bands, the resident set as a line, the peak marked.
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
//!  growing strip: which phase grew when
//! ```
mod axes;
mod labels;
mod stack;

use alloc_timeline::Dimension;

use crate::analysis::curve;
use crate::model::Run;
use crate::view::scale::Scale;
use crate::view::svg::Svg;

const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 600.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 250.0;
const TOP: f64 = 92.0;
const BOTTOM: f64 = 92.0;
const PLOT_WIDTH: f64 = WIDTH - LEFT - RIGHT;
const PLOT_HEIGHT: f64 = HEIGHT - TOP - BOTTOM;
/// Columns into which instants are gathered before they are drawn: about two pixels each.
const COLUMNS: usize = 420;
/// Bands before the rest: as many as the legend has room for.
const MOST_BANDS: usize = 11;

/// Light by default, dark where the reader prefers it and the page lets it through. Attributes give the light colours
/// as well, for programs that do not read CSS.
const STYLE: &str = "\
.tl-bg{fill:#fff}.tl-ink{fill:#1f2328}.tl-dim{fill:#59636e}.tl-grid{stroke:#d1d9e0}.tl-axis{stroke:#59636e}\
.tl-rss{stroke:#1f2328}.tl-edge{stroke:#fff}.tl-halo{stroke:#fff}.tl-high{fill:#d9dee3}\
@media (prefers-color-scheme:dark){.tl-bg{fill:#0d1117}.tl-ink{fill:#f0f6fc}.tl-dim{fill:#9198a1}\
.tl-grid{stroke:#30363d}.tl-axis{stroke:#9198a1}.tl-rss{stroke:#f0f6fc}.tl-edge{stroke:#0d1117}\
.tl-halo{stroke:#0d1117}.tl-high{fill:#2a313a}}";

/// The inks: a class for the page's mode, an attribute for the light one.
const INK: &str = "class=\"tl-ink\" fill=\"#1f2328\"";
const DIM: &str = "class=\"tl-dim\" fill=\"#59636e\"";
const GRID: &str = "class=\"tl-grid\" stroke=\"#d1d9e0\"";
const AXIS: &str = "class=\"tl-axis\" stroke=\"#59636e\"";
const RSS: &str = "class=\"tl-rss\" stroke=\"#1f2328\"";
const HALO: &str = "class=\"tl-halo\" stroke=\"#fff\" stroke-linejoin=\"round\" fill=\"none\"";

/// Where instants and bytes stand on the picture.
struct Frame {
    end_ns: u64,
    scale: Scale,
}

impl Frame {
    fn x(&self, time_ns: u64) -> f64 {
        LEFT + PLOT_WIDTH * (time_ns as f64 / self.end_ns.max(1) as f64).min(1.0)
    }

    fn y(&self, bytes: u64) -> f64 {
        TOP + PLOT_HEIGHT * (1.0 - self.scale.at(bytes))
    }
}

/// The picture, split by `dimension`.
pub fn timeline_svg(run: &Run, dimension: Dimension) -> String {
    let timeline = &run.timeline;
    let whole = curve(timeline, dimension, MOST_BANDS);
    let thin = whole.thinned(COLUMNS);
    let highest = |values: &[u64]| values.iter().copied().max().unwrap_or(0);
    let rss = thin.rss.iter().map(|point| point.1).max().unwrap_or(0);
    let most = highest(&thin.total).max(highest(&thin.high)).max(rss).max(timeline.peak.live_bytes);
    let frame = Frame {
        end_ns: timeline.duration_ns.max(whole.span().1).max(timeline.peak.time_ns),
        // A sixteenth of head room keeps the peak's label inside.
        scale: Scale::bytes(most.saturating_add(most / 16), 9),
    };
    let mut svg = Svg::new(WIDTH, HEIGHT, &format!("Live bytes over time: {}", run.title()), STYLE);
    svg.element("rect", format_args!("class=\"tl-bg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\""));
    labels::heading(&mut svg, run, dimension);
    axes::grid(&mut svg, &frame);
    stack::bands(&mut svg, &frame, &thin);
    axes::steps(&mut svg, &frame, run);
    stack::rss_line(&mut svg, &frame, &thin);
    stack::tips(&mut svg, &frame, &whole);
    axes::marks(&mut svg, &frame, run);
    labels::peak(&mut svg, &frame, run);
    axes::strip(&mut svg, &frame, run);
    labels::legend(&mut svg, run, &thin);
    svg.finish()
}
