//! Runs as people look at them: pictures, text for the terminal, and an HTML page. Pure: each view is a function from a run
//! to text.
//!
//! The files stand on floors here as well: `words`, `palette`, `scale` and `svg` serve all views; `folded` and `flame_text`
//! serve the flamegraphs; `flame`, `timeline`, `lanes`, `cost`, `waterfall` and `text` are views; the page in `report`
//! consists of them.
// Each group uses only the groups above it.
mod ink;
mod palette;
mod scale;
mod svg;
mod words;

mod flame_text;
mod folded;

mod cost;
mod flame;
mod lanes;
mod text;
mod timeline;
mod waterfall;

mod report;

pub use cost::cost_svg;
pub use flame::{flamegraph, stacks_flamegraph};
pub use folded::{FlameOrder, FlameOrderError, folded_peak, folded_stacks};
pub use lanes::lanes_svg;
pub use palette::Colours;
pub use report::report;
pub use text::{
    Terminal, chart, compare_text, device_snapshot_text, fitted, growth_text, leaks_text, lifetimes_text, objects_text,
    owners_text, power_text, reconcile_text, stacks_text, steps_text, summary_text, threads_text, times_text,
    top_table, unread_text,
};
pub use timeline::{rss_svg, timeline_svg};
pub use waterfall::waterfall_svg;
pub use words::{RssExplained, growth_paragraph, near_limit_text, rss_explained, verdicts};
