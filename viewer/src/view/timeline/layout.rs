//! Sizes and inks of the timeline picture, and the positions of instants and bytes in it.
use crate::view::scale::Scale;

pub(super) const WIDTH: f64 = 1200.0;
pub(super) const HEIGHT: f64 = 600.0;
pub(super) const LEFT: f64 = 84.0;
pub(super) const RIGHT: f64 = 250.0;
pub(super) const TOP: f64 = 92.0;
pub(super) const BOTTOM: f64 = 92.0;
pub(super) const PLOT_WIDTH: f64 = WIDTH - LEFT - RIGHT;
pub(super) const PLOT_HEIGHT: f64 = HEIGHT - TOP - BOTTOM;

/// The colours are dark where the reader prefers that and the page allows it, and light otherwise. Each element has the light
/// colour as an attribute too, for programs that do not read CSS.
pub(super) const STYLE: &str = "\
.tl-bg{fill:#fff}.tl-ink{fill:#1f2328}.tl-dim{fill:#59636e}.tl-grid{stroke:#d1d9e0}.tl-axis{stroke:#59636e}\
.tl-rss{stroke:#1f2328}.tl-edge{stroke:#fff}.tl-halo{stroke:#fff}.tl-high{fill:#d9dee3}\
@media (prefers-color-scheme:dark){.tl-bg{fill:#0d1117}.tl-ink{fill:#f0f6fc}.tl-dim{fill:#9198a1}\
.tl-grid{stroke:#30363d}.tl-axis{stroke:#9198a1}.tl-rss{stroke:#f0f6fc}.tl-edge{stroke:#0d1117}\
.tl-halo{stroke:#0d1117}.tl-high{fill:#2a313a}}";

// The inks: a class of the style, and an attribute with its light colour.
pub(super) const INK: &str = "class=\"tl-ink\" fill=\"#1f2328\"";
pub(super) const DIM: &str = "class=\"tl-dim\" fill=\"#59636e\"";
pub(super) const GRID: &str = "class=\"tl-grid\" stroke=\"#d1d9e0\"";
pub(super) const AXIS: &str = "class=\"tl-axis\" stroke=\"#59636e\"";
pub(super) const RSS: &str = "class=\"tl-rss\" stroke=\"#1f2328\"";
pub(super) const HALO: &str = "class=\"tl-halo\" stroke=\"#fff\" stroke-linejoin=\"round\" fill=\"none\"";

/// The area of the curves: it gives instants and bytes their coordinates.
pub(super) struct PlotArea {
    /// The instant at the right end.
    pub(super) end_ns: u64,
    /// The vertical axis.
    pub(super) scale: Scale,
}

impl PlotArea {
    pub(super) fn x(&self, time_ns: u64) -> f64 {
        LEFT + PLOT_WIDTH * (time_ns as f64 / self.end_ns.max(1) as f64).min(1.0)
    }

    pub(super) fn y(&self, bytes: u64) -> f64 {
        TOP + PLOT_HEIGHT * (1.0 - self.scale.at(bytes))
    }
}
