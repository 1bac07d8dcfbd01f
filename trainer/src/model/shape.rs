//! The shapes of the maps between stages, from the size of the image alone.
use super::op::Op;
use super::stage::Stage;

/// Channels and side of the maps of one image: [channels, side, side]. A flat map has side 1.
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
    /// A stage was made for another number of channels or features.
    #[error("`{stage}` takes {takes} channels or features, and {reach} reach it")]
    Channels {
        /// The stage.
        stage: String,
        /// How many it takes.
        takes: u64,
        /// How many reach it.
        reach: u64,
    },
    /// Maps that meet in a stage have different sizes.
    #[error("the maps that meet in `{stage}` differ in size: {one:?} and {other:?}")]
    Meeting {
        /// The stage.
        stage: String,
        /// The first map.
        one: Shape,
        /// The one that differs.
        other: Shape,
    },
    /// Training normalises over a single value.
    #[error("batch norm `{stage}` would see one value per channel (one image, a map of 1x1) and cannot normalise it")]
    OneValue {
        /// The stage.
        stage: String,
    },
}

/// The shape of every map, by its number: that of the input first, then what each stage leaves.
pub fn shapes(stages: &[Stage], input: Shape) -> Result<Vec<Shape>, Misfit> {
    let mut all = Vec::with_capacity(stages.len() + 1);
    all.push(input);
    for stage in stages {
        let reads: Vec<Shape> = stage.reads.iter().map(|map| all[map.0]).collect();
        all.push(left_by(stage, &reads)?);
    }
    Ok(all)
}

fn left_by(stage: &Stage, reads: &[Shape]) -> Result<Shape, Misfit> {
    let first = reads[0];
    let name = || stage.name.clone();
    let positions = |window: super::op::Window| {
        window.positions(first.side).ok_or_else(|| Misfit::Window { stage: name(), side: first.side })
    };
    let takes = |takes: u64, reach: u64| {
        if takes == reach { Ok(()) } else { Err(Misfit::Channels { stage: name(), takes, reach }) }
    };
    let meets = |same: fn(Shape, Shape) -> bool| match reads.iter().find(|&&other| !same(first, other)) {
        None => Ok(()),
        Some(&other) => Err(Misfit::Meeting { stage: name(), one: first, other }),
    };
    Ok(match stage.op {
        Op::Conv(conv) => {
            takes(conv.from, first.channels)?;
            Shape { channels: conv.to, side: positions(conv.window)? }
        }
        Op::ConvTranspose(conv) => {
            takes(conv.from, first.channels)?;
            let side = conv.window.spread(first.side);
            Shape { channels: conv.to, side: side.ok_or_else(|| Misfit::Window { stage: name(), side: first.side })? }
        }
        Op::BatchNorm { channels } => {
            takes(channels, first.channels)?;
            first
        }
        Op::MaxPool(window) | Op::AvgPool(window) => Shape { channels: first.channels, side: positions(window)? },
        Op::AdaptiveAvgPool { side } => Shape { channels: first.channels, side },
        Op::Flatten => Shape { channels: first.elements(), side: 1 },
        Op::Linear { from, to } => {
            takes(from, first.elements())?;
            Shape { channels: to, side: 1 }
        }
        Op::Concat => {
            meets(|one, other| one.side == other.side)?;
            Shape { channels: reads.iter().map(|shape| shape.channels).sum(), side: first.side }
        }
        Op::Add(_) => {
            meets(|one, other| one == other)?;
            first
        }
        Op::Relu(_) | Op::Relu6 | Op::LeakyRelu { .. } | Op::Tanh | Op::Sigmoid | Op::Dropout { .. } | Op::Loss(_) => {
            first
        }
    })
}

/// Whether inputs of this shape can go through; with `training`, also whether batch norm can normalise over `batch`.
pub fn fits(stages: &[Stage], input: Shape, batch: u64, training: bool) -> Result<(), Misfit> {
    let shapes = shapes(stages, input)?;
    for (stage, shape) in stages.iter().zip(&shapes[1..]) {
        let normalises = matches!(stage.op, Op::BatchNorm { .. });
        if training && normalises && batch * shape.side * shape.side <= 1 {
            return Err(Misfit::OneValue { stage: stage.name.clone() });
        }
    }
    Ok(())
}

/// The smallest image of so many channels that [`fits`], looked for up to `limit`.
pub fn smallest(stages: &[Stage], channels: u64, batch: u64, training: bool, limit: u64) -> Option<u64> {
    (1..=limit).find(|&side| fits(stages, Shape { channels, side }, batch, training).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::name::ModelName;

    fn side_before_the_pool(model: ModelName, image: u64) -> u64 {
        let stages = model.stages(1000);
        let shapes = shapes(&stages, Shape { channels: 3, side: image }).expect("the image fits");
        let is_pool = |stage: &Stage| matches!(stage.op, Op::AdaptiveAvgPool { .. });
        let pool = stages.iter().position(is_pool).expect("both networks pool");
        shapes[pool].side
    }

    /// Both networks halve five times, rounding up: 224 -> 112 -> 56 -> 28 -> 14 -> 7 and 97 -> 49 -> 25 -> 13 -> 7 -> 4.
    #[test]
    fn five_halvings() {
        for model in ModelName::DEMO {
            assert_eq!(side_before_the_pool(model, 224), 7);
            assert_eq!(side_before_the_pool(model, 97), 4);
            assert_eq!(side_before_the_pool(model, 33), 2);
            assert_eq!(side_before_the_pool(model, 32), 1);
        }
    }

    /// At 32 pixels the last maps are 1x1: with one image there is one value per channel, with two there are two.
    #[test]
    fn batch_norm_needs_two_values() {
        for model in ModelName::DEMO {
            let stages = model.stages(1000);
            assert!(matches!(fits(&stages, Shape { channels: 3, side: 32 }, 1, true), Err(Misfit::OneValue { .. })));
            assert_eq!(fits(&stages, Shape { channels: 3, side: 32 }, 2, true), Ok(()));
            assert_eq!(fits(&stages, Shape { channels: 3, side: 32 }, 1, false), Ok(()));
            assert_eq!(smallest(&stages, 3, 1, true, 64), Some(33));
            assert_eq!(smallest(&stages, 3, 2, true, 64), Some(1));
        }
    }

    #[test]
    fn an_image_without_pixels_fits_nothing() {
        let stages = ModelName::ResNet18.stages(1000);
        assert_eq!(
            fits(&stages, Shape { channels: 3, side: 0 }, 2, true),
            Err(Misfit::Window { stage: "conv1".to_owned(), side: 0 })
        );
    }
}
