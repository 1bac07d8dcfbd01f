//! Sizes of the timeline picture, and the positions of instants and bytes in it.
use crate::view::scale::Scale;

pub(super) const WIDTH: f64 = 1200.0;
pub(super) const HEIGHT: f64 = 600.0;
pub(super) const LEFT: f64 = 84.0;
pub(super) const RIGHT: f64 = 250.0;
pub(super) const TOP: f64 = 92.0;
pub(super) const BOTTOM: f64 = 92.0;
pub(super) const PLOT_WIDTH: f64 = WIDTH - LEFT - RIGHT;
pub(super) const PLOT_HEIGHT: f64 = HEIGHT - TOP - BOTTOM;

/// The area of the curves: it gives instants and bytes their coordinates.
pub(super) struct PlotArea {
    /// The instant at the right end.
    pub(super) end_ns: u64,
    /// The vertical axis above zero.
    pub(super) scale: Scale,
    /// The part of the height that lies below zero, from 0 to 1.
    pub(super) below: f64,
}

impl PlotArea {
    pub(super) fn x(&self, time_ns: u64) -> f64 {
        LEFT + PLOT_WIDTH * (time_ns as f64 / self.end_ns.max(1) as f64).min(1.0)
    }

    pub(super) fn y(&self, bytes: u64) -> f64 {
        self.y_at(self.scale.at(bytes))
    }

    /// The place of a height on the scale, from 0 to 1.
    pub(super) fn y_at(&self, height: f64) -> f64 {
        TOP + PLOT_HEIGHT * (1.0 - self.below) * (1.0 - height)
    }

    /// The place of bytes below zero.
    pub(super) fn y_below(&self, bytes: u64) -> f64 {
        self.y_at(-self.scale.at(bytes))
    }
}
