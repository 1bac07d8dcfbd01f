//! Runs as people look at them: pictures, terminal text, one HTML page. Pure: each view is a function from a run to
//! text.
mod chart;
mod compare_text;
mod flame;
mod growth_text;
mod lifetimes_text;
mod owners_text;
mod palette;
mod reconcile_text;
pub mod report;
mod scale;
mod stacks_text;
mod summary_text;
mod svg;
mod table;
mod timeline;
mod trend_text;

pub use chart::{Terminal, chart};
pub use compare_text::{compare_text, verdicts};
pub use flame::{Order, flame, folded, stacks_flame};
pub use growth_text::{growth_text, leaks_text};
pub use lifetimes_text::lifetimes_text;
pub use owners_text::owners_text;
pub use palette::{Rgb, colour};
pub use reconcile_text::reconcile_text;
pub use scale::{Scale, nice_times};
pub use stacks_text::{folded_stacks, stacks_text};
pub use summary_text::{facts, losses, summary_text};
pub use table::top_table;
pub use timeline::timeline_svg;
pub use trend_text::growing_lines;
