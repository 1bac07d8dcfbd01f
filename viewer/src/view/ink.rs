//! The inks that all SVG pictures have in common: text, lines and background, in light and in dark.

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
