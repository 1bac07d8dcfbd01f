//! One point of a sweep: a value for each axis.
use std::fmt;

use serde::{Deserialize, Serialize};

/// A value for each axis, as it stands in files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct Point {
    pub(super) model: String,
    pub(super) mode: String,
    /// Images or texts in a step.
    pub(super) batch: u64,
    /// Height and width of images in pixels; of networks that read images.
    pub(super) image_size: Option<u64>,
    /// Length of texts in tokens; of networks that read texts.
    pub(super) length: Option<u64>,
    /// There is none in inference.
    pub(super) optimizer: Option<String>,
    pub(super) precision: String,
    pub(super) allocator: String,
    pub(super) threads: u64,
}

/// What points may differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Axis {
    Model,
    Mode,
    Batch,
    ImageSize,
    Length,
    Optimizer,
    Precision,
    Allocator,
    Threads,
}

impl Axis {
    pub(super) const ALL: [Axis; 9] = [
        Axis::Model,
        Axis::Mode,
        Axis::Batch,
        Axis::ImageSize,
        Axis::Length,
        Axis::Optimizer,
        Axis::Precision,
        Axis::Allocator,
        Axis::Threads,
    ];

    /// The column in tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Axis::Model => "model",
            Axis::Mode => "mode",
            Axis::Batch => "batch",
            Axis::ImageSize => "image_size",
            Axis::Length => "length",
            Axis::Optimizer => "optimizer",
            Axis::Precision => "precision",
            Axis::Allocator => "allocator",
            Axis::Threads => "threads",
        }
    }
}

impl Point {
    /// The value on one axis, as text.
    pub(super) fn on(&self, axis: Axis) -> String {
        match axis {
            Axis::Model => self.model.clone(),
            Axis::Mode => self.mode.clone(),
            Axis::Batch => self.batch.to_string(),
            Axis::ImageSize => self.image_size.map_or(String::new(), |side| side.to_string()),
            Axis::Length => self.length.map_or(String::new(), |length| length.to_string()),
            Axis::Optimizer => self.optimizer.clone().unwrap_or_default(),
            Axis::Precision => self.precision.clone(),
            Axis::Allocator => self.allocator.clone(),
            Axis::Threads => self.threads.to_string(),
        }
    }

    /// Whether both are the same but for one axis.
    pub(super) fn differs_only_in(&self, other: &Point, axis: Axis) -> bool {
        // In inference there is no optimizer, so the two modes differ in that as well.
        let same =
            |on: Axis| on == axis || (axis == Axis::Mode && on == Axis::Optimizer) || self.on(on) == other.on(on);
        Axis::ALL.into_iter().all(same) && self.on(axis) != other.on(axis)
    }

    /// `64 px`, or `32 tokens`.
    fn size_name(&self) -> String {
        match (self.image_size, self.length) {
            (Some(side), _) => format!("{side} px"),
            (None, length) => format!("{} tokens", length.unwrap_or(0)),
        }
    }

    /// Part of a file's name. Two points differ in it.
    pub(super) fn file_name(&self) -> String {
        let Point { model, mode, batch, optimizer, precision, allocator, threads, .. } = self;
        let size = self.size_name().replace(' ', "");
        let optimizer = optimizer.as_deref().unwrap_or("none");
        // An allocator's settings may contain anything; a letter that a name must not contain becomes its number.
        let plain = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
        let allocator: String =
            allocator.chars().map(|c| if plain(c) { c.to_string() } else { format!("%{:x}", u32::from(c)) }).collect();
        format!("{model}-{mode}-b{batch}-{size}-{optimizer}-{precision}-{allocator}-{threads}t")
    }
}

/// The axes in which `points` differ; the model, if they differ in nothing.
pub(super) fn varying<'a>(points: impl Iterator<Item = &'a Point> + Clone) -> Vec<Axis> {
    let differs = |axis: &Axis| {
        let mut values = points.clone().map(|point| point.on(*axis));
        values.next().is_some_and(|first| values.any(|value| value != first))
    };
    let axes: Vec<Axis> = Axis::ALL.into_iter().filter(differs).collect();
    if axes.is_empty() { vec![Axis::Model] } else { axes }
}

impl Point {
    /// Its name among points that differ in `axes` alone.
    pub(super) fn name(&self, axes: &[Axis]) -> String {
        let word = |axis: &Axis| match axis {
            Axis::Batch => Some(format!("batch {}", self.batch)),
            Axis::ImageSize => self.image_size.map(|_| self.size_name()),
            Axis::Length => self.length.map(|_| self.size_name()),
            Axis::Threads if self.threads == 1 => Some("1 thread".to_owned()),
            Axis::Threads => Some(format!("{} threads", self.threads)),
            Axis::Optimizer => self.optimizer.clone(),
            _ => Some(self.on(*axis)),
        };
        axes.iter().filter_map(word).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name(&Axis::ALL))
    }
}

#[cfg(test)]
pub(super) fn example(model: &str, batch: u64) -> Point {
    Point {
        model: model.to_owned(),
        mode: "train".to_owned(),
        batch,
        image_size: Some(32),
        length: None,
        optimizer: Some("sgd".to_owned()),
        precision: "fp32".to_owned(),
        allocator: "jemalloc".to_owned(),
        threads: 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_named_by_what_they_differ_in() {
        let points = [example("lenet5", 1), example("lenet5", 4)];
        assert_eq!(varying(points.iter()), [Axis::Batch]);
        assert_eq!(points[1].name(&[Axis::Batch]), "batch 4");
        assert_eq!(varying(points[..1].iter()), [Axis::Model]);
        assert_eq!(points[0].to_string(), "lenet5, train, batch 1, 32 px, sgd, fp32, jemalloc, 1 thread");
        assert!(points[0].differs_only_in(&points[1], Axis::Batch));
        assert!(!points[0].differs_only_in(&points[1], Axis::Model));
        assert!(!points[0].differs_only_in(&points[0], Axis::Batch));
        let infer = Point { mode: "infer".to_owned(), optimizer: None, ..points[0].clone() };
        assert!(points[0].differs_only_in(&infer, Axis::Mode));
        assert!(!points[0].differs_only_in(&infer, Axis::Optimizer));
    }

    #[test]
    fn file_names_tell_points_apart() {
        let allocator = |text: &str| Point { allocator: text.to_owned(), ..example("lenet5", 1) }.file_name();
        assert_eq!(allocator("jemalloc"), "lenet5-train-b1-32px-sgd-fp32-jemalloc-1t");
        assert_ne!(allocator("jemalloc:a:b"), allocator("jemalloc:a+b"));
        assert!(!allocator("jemalloc:a/b:1").contains('/'));
    }
}
