//! The shapes of the maps between stages, from the size of the input alone.
mod kinds;
mod misfit;

mod sequence;

pub use self::kinds::{F32, I64, Shape};
pub use self::misfit::Misfit;

use super::op::{Op, Window};
use super::stage::Stage;

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
    let takes = |takes: u64, reach: u64| {
        if takes == reach { Ok(()) } else { Err(Misfit::Channels { stage: name(), takes, reach }) }
    };
    let meets = |same: fn(Shape, Shape) -> bool| match reads.iter().find(|&&other| !same(first, other)) {
        None => Ok(()),
        Some(&other) => Err(Misfit::Meeting { stage: name(), one: first, other }),
    };
    Ok(match (stage.op, first) {
        (Op::Conv(conv), Shape::Maps { channels, side }) => {
            takes(conv.from, channels)?;
            Shape::Maps { channels: conv.to, side: positions(stage, conv.window, side)? }
        }
        (Op::BatchNorm { channels }, Shape::Maps { .. }) => {
            takes(channels, first.features())?;
            first
        }
        (Op::MaxPool(window) | Op::AvgPool(window), Shape::Maps { channels, side }) => {
            Shape::Maps { channels, side: positions(stage, window, side)? }
        }
        (Op::AdaptiveAvgPool { side }, Shape::Maps { channels, .. }) => Shape::Maps { channels, side },
        (Op::Flatten, _) => Shape::Vector { features: first.elements() },
        (Op::Linear { from, to }, Shape::Vector { .. } | Shape::Sequence { .. }) => {
            takes(from, first.features())?;
            first.with_features(to)
        }
        (Op::Concat, Shape::Maps { channels: _, side }) => {
            meets(|one, other| one.size() == other.size())?;
            Shape::Maps { channels: reads.iter().map(|shape| shape.features()).sum(), side }
        }
        (Op::Add(_), _) => {
            meets(|one, other| one == other)?;
            first
        }
        (Op::Relu(_) | Op::Relu6 | Op::Tanh | Op::Dropout { .. }, _) => first,
        (Op::Sequence(op), _) => sequence::left_by(op, &stage.name, reads)?,
        (_, reach) => return Err(Misfit::Kind { stage: name(), reach }),
    })
}

/// Windows along a side of `side` pixels.
fn positions(stage: &Stage, window: Window, side: u64) -> Result<u64, Misfit> {
    window.positions(side).ok_or_else(|| Misfit::Window { stage: stage.name.clone(), side })
}

/// Whether inputs of this shape can go through; with `training`, also whether batch norm can normalise over `batch`.
pub fn fits(stages: &[Stage], input: Shape, batch: u64, training: bool) -> Result<(), Misfit> {
    let shapes = shapes(stages, input)?;
    for (stage, shape) in stages.iter().zip(&shapes[1..]) {
        let normalises = matches!(stage.op, Op::BatchNorm { .. });
        if training && normalises && batch * shape.places() <= 1 {
            return Err(Misfit::OneValue { stage: stage.name.clone() });
        }
    }
    Ok(())
}

/// The smallest size of inputs of this kind that [`fits`], looked for up to `limit`.
pub fn smallest(stages: &[Stage], input: Shape, batch: u64, training: bool, limit: u64) -> Option<u64> {
    (1..=limit).find(|&size| fits(stages, input.resized(size), batch, training).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::name::ModelName;

    fn side_before_the_pool(model: ModelName, image: u64) -> u64 {
        let stages = model.stages(1000);
        let shapes = shapes(&stages, Shape::Maps { channels: 3, side: image }).expect("the image fits");
        let is_pool = |stage: &Stage| matches!(stage.op, Op::AdaptiveAvgPool { .. });
        let pool = stages.iter().position(is_pool).expect("both networks pool");
        shapes[pool].size()
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
            assert!(matches!(
                fits(&stages, Shape::Maps { channels: 3, side: 32 }, 1, true),
                Err(Misfit::OneValue { .. })
            ));
            assert_eq!(fits(&stages, Shape::Maps { channels: 3, side: 32 }, 2, true), Ok(()));
            assert_eq!(fits(&stages, Shape::Maps { channels: 3, side: 32 }, 1, false), Ok(()));
            assert_eq!(smallest(&stages, Shape::Maps { channels: 3, side: 32 }, 1, true, 64), Some(33));
            assert_eq!(smallest(&stages, Shape::Maps { channels: 3, side: 32 }, 2, true, 64), Some(1));
        }
    }

    #[test]
    fn an_image_without_pixels_fits_nothing() {
        let stages = ModelName::ResNet18.stages(1000);
        assert_eq!(
            fits(&stages, Shape::Maps { channels: 3, side: 0 }, 2, true),
            Err(Misfit::Window { stage: "conv1".to_owned(), side: 0 })
        );
    }
}
