//! The shapes of the maps between stages, from the size of the image alone.
use super::stage::{Branch, Op, Stage};

/// Channels and side of the maps of one image: [channels, side, side].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Channels.
    pub channels: u64,
    /// Height and width.
    pub side: u64,
}

impl Shape {
    /// Elements of one image's maps.
    pub fn elements(self) -> u64 {
        self.channels * self.side * self.side
    }
}

/// Why an image size does not fit a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misfit {
    /// A window is larger than the map it should slide over.
    #[error("the window of `{stage}` does not fit into a map of {side}x{side}")]
    Window {
        /// The stage.
        stage: String,
        /// Side of the map that reaches it.
        side: u64,
    },
    /// Training normalises over a single value.
    #[error("batch norm `{stage}` would see one value per channel (one image, a map of 1x1) and cannot normalise it")]
    OneValue {
        /// The stage.
        stage: String,
    },
}

/// The shape that each stage leaves on its branch, in the order of `stages`, for images of 3 x `side` x `side`.
/// (A fork leaves the same shape on both.)
pub fn shapes(stages: &[Stage], side: u64) -> Result<Vec<Shape>, Misfit> {
    let mut main = Shape { channels: 3, side };
    let mut shortcut = main;
    let mut all = Vec::with_capacity(stages.len());
    for stage in stages {
        let branch = match stage.branch {
            Branch::Main => &mut main,
            Branch::Shortcut => &mut shortcut,
        };
        let misfit = |side| Misfit::Window { stage: stage.name.clone(), side };
        *branch = match stage.op {
            Op::Conv(conv) => {
                let side = conv.window.positions(branch.side).ok_or_else(|| misfit(branch.side))?;
                Shape { channels: conv.to, side }
            }
            Op::MaxPool(window) => {
                let side = window.positions(branch.side).ok_or_else(|| misfit(branch.side))?;
                Shape { channels: branch.channels, side }
            }
            Op::AvgPool => Shape { channels: branch.channels, side: 1 },
            Op::Linear { to, .. } => Shape { channels: to, side: 1 },
            Op::BatchNorm { .. } | Op::Relu | Op::Fork | Op::Join => *branch,
        };
        let left = *branch;
        if stage.op == Op::Fork {
            shortcut = left;
        }
        all.push(left);
    }
    Ok(all)
}

/// Whether images of this size can go through; with `training`, also whether batch norm can normalise over `batch`.
pub fn fits(stages: &[Stage], side: u64, batch: u64, training: bool) -> Result<(), Misfit> {
    for (stage, shape) in stages.iter().zip(shapes(stages, side)?) {
        let normalises = matches!(stage.op, Op::BatchNorm { .. });
        if training && normalises && batch * shape.side * shape.side <= 1 {
            return Err(Misfit::OneValue { stage: stage.name.clone() });
        }
    }
    Ok(())
}

/// The smallest image that [`fits`], looked for up to `limit`.
pub fn smallest(stages: &[Stage], batch: u64, training: bool, limit: u64) -> Option<u64> {
    (1..=limit).find(|&side| fits(stages, side, batch, training).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::name::ModelName;

    fn side_before_the_pool(model: ModelName, image: u64) -> u64 {
        let stages = model.stages(1000);
        let shapes = shapes(&stages, image).expect("the image fits");
        let pool = stages.iter().position(|stage| stage.op == Op::AvgPool).expect("both networks pool");
        shapes[pool - 1].side
    }

    /// Both networks halve five times, rounding up: 224 -> 112 -> 56 -> 28 -> 14 -> 7 and 97 -> 49 -> 25 -> 13 -> 7 -> 4.
    #[test]
    fn five_halvings() {
        for model in ModelName::ALL {
            assert_eq!(side_before_the_pool(model, 224), 7);
            assert_eq!(side_before_the_pool(model, 97), 4);
            assert_eq!(side_before_the_pool(model, 33), 2);
            assert_eq!(side_before_the_pool(model, 32), 1);
        }
    }

    /// At 32 pixels the last maps are 1x1: with one image there is one value per channel, with two there are two.
    #[test]
    fn batch_norm_needs_two_values() {
        for model in ModelName::ALL {
            let stages = model.stages(1000);
            assert!(matches!(fits(&stages, 32, 1, true), Err(Misfit::OneValue { .. })));
            assert_eq!(fits(&stages, 32, 2, true), Ok(()));
            assert_eq!(fits(&stages, 32, 1, false), Ok(()));
            assert_eq!(smallest(&stages, 1, true, 64), Some(33));
            assert_eq!(smallest(&stages, 2, true, 64), Some(1));
        }
    }

    #[test]
    fn an_image_without_pixels_fits_nothing() {
        let stages = ModelName::ResNet18.stages(1000);
        assert_eq!(fits(&stages, 0, 2, true), Err(Misfit::Window { stage: "conv1".to_owned(), side: 0 }));
    }
}
