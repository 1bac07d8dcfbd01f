//! The memory that the seed document 002 (Kukreja, Shilova and others, "Training neural networks on the edge") publishes for
//! ResNets, and what follows from it.
//!
//! Its batches lie on straight lines to the last printed digit: a constant and so much for each image. The constant follows
//! from the shapes, see [`parameters_by_module`]. What an image adds does not yet: the slopes here are those of the
//! least-squares lines through the document's six batches. What every module leaves, twice (itself and its gradient), comes
//! within 4 % of it, and that works for every network and size: see [`every_map_twice`]. What else was tried is in
//! `docs/decisions/0009-what-the-seed-counts.md`.
use crate::model::ModelName;
use crate::model::op::Op;
use crate::model::plan::F32;
use crate::model::shape::{self, Misfit, Shape};

/// Image size of the lines, and the classes.
const SIDE: u64 = 224;
const CLASSES: u64 = 1000;
/// MiB of each image.
const SLOPES: [(ModelName, f64); 5] = [
    (ModelName::ResNet18, 55.002_715),
    (ModelName::ResNet34, 83.713_749),
    (ModelName::ResNet50, 235.418_685),
    (ModelName::ResNet101, 352.559_347),
    (ModelName::ResNet152, 497.262_485),
];
const MIB: f64 = 1_048_576.0;
/// MiB of one image, by its size: the document's second table.
const SIZES: [(u64, [f64; 5]); 5] = [
    (350, [309.83, 534.96, 964.66, 1543.72, 2139.75]),
    (500, [449.21, 749.73, 1570.93, 2472.72, 3458.50]),
    (650, [639.07, 1039.08, 2387.54, 3682.00, 5161.76]),
    (1100, [1496.10, 2346.95, 6073.06, 9208.30, 12961.96]),
    (1500, [2628.70, 4075.07, 10944.42, 16515.11, 23277.27]),
];

/// MiB that the document has for this step: on its line at 224 pixels, or in its table of sizes.
pub(super) fn published(model: ModelName, batch: u64, side: u64) -> Option<f64> {
    let index = SLOPES.iter().position(|(of, _)| *of == model)?;
    if side == SIDE {
        let constant = (parameters_by_module(model, CLASSES) * F32) as f64 / MIB;
        return Some(constant + SLOPES[index].1 * batch as f64);
    }
    let (_, sizes) = SIZES.iter().find(|(of, _)| *of == side && batch == 1)?;
    Some(sizes[index])
}

/// Parameters as the document counts them: once for every module that they are in. PyTorch's `modules()` lists the network, its
/// layers, their blocks, and what these consist of; `parameters()` of each are those of all that it consists of. So the stem's
/// convolution counts twice, as itself and in the network, that of a block four times, that of a projection five times: once
/// more than their names have parts.
fn parameters_by_module(model: ModelName, classes: u64) -> u64 {
    let modules = |name: &str| 1 + name.split('.').count() as u64;
    model.stages(classes).iter().map(|stage| modules(&stage.name) * stage.op.parameters()).sum()
}

/// Bytes by the document's reading: the parameters as it counts them, and the output of every module twice.
pub(super) fn every_map_twice(model: ModelName, batch: u64, input: Shape, classes: u64) -> Result<u64, Misfit> {
    let stages = model.stages(classes);
    // A sum, a concatenation and a view are no modules.
    let is_module = |op: Op| !matches!(op, Op::Add(_) | Op::Concat | Op::Flatten | Op::Loss(_));
    let shapes = shape::shapes(&stages, input)?;
    let of_modules = stages.iter().zip(&shapes[1..]).filter(|(stage, _)| is_module(stage.op));
    let maps: u64 = of_modules.map(|(_, shape)| shape.elements()).sum();
    Ok((parameters_by_module(model, classes) + 2 * batch * maps) * F32)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The document's first table: batch, and MiB of ResNet-18, 34, 50, 101 and 152.
    const BATCHES: [(u64, [f64; 5]); 6] = [
        (1, [230.05, 413.00, 620.27, 1027.21, 1410.62]),
        (3, [340.05, 580.42, 1091.11, 1732.33, 2405.14]),
        (5, [450.06, 747.85, 1561.94, 2437.45, 3399.67]),
        (10, [725.07, 1166.42, 2739.04, 4200.25, 5885.98]),
        (30, [1825.13, 2840.70, 7447.42, 11251.43, 15831.23]),
        (50, [2925.18, 4514.97, 12155.79, 18302.62, 25776.48]),
    ];

    /// Conv 1 and fc twice, blocks four times, projections five times: 4 x 11,689,512 - 2 x (9,536 + 513,000) + 173,824 for
    /// ResNet-18. The least-squares lines have 175.045, 329.283, 384.851, 674.653 and 913.356 MiB.
    #[test]
    fn the_constants_follow_from_the_shapes() {
        assert_eq!(parameters_by_module(ModelName::ResNet18, CLASSES), 45_886_800);
        let fitted = [175.0450, 329.2825, 384.8511, 674.6527, 913.3557];
        for ((model, _), fitted) in SLOPES.into_iter().zip(fitted) {
            let found = (parameters_by_module(model, CLASSES) * F32) as f64 / MIB;
            assert!((found - fitted).abs() < 0.01, "{model}: {found} and not {fitted}");
        }
    }

    /// All thirty numbers to 0.01 MiB.
    #[test]
    fn the_lines_reproduce_the_table_of_batches() {
        for (batch, expected) in BATCHES {
            for ((model, _), expected) in SLOPES.into_iter().zip(expected) {
                let found = published(model, batch, 224).expect("a ResNet");
                assert!((found - expected).abs() < 0.01, "{model}, batch {batch}: {found} and not {expected}");
            }
        }
    }

    /// From shapes: within 4 % of all thirty.
    #[test]
    fn every_map_twice_comes_near() {
        for (batch, expected) in BATCHES {
            for ((model, _), expected) in SLOPES.into_iter().zip(expected) {
                let bytes = every_map_twice(model, batch, model.input_of(224), 1000).expect("224 fits");
                let ratio = bytes as f64 / f64::from(1 << 20) / expected;
                assert!((1.0..1.04).contains(&ratio), "{model}, batch {batch}: {ratio}");
            }
        }
    }

    #[test]
    fn what_the_document_does_not_have() {
        assert_eq!(published(ModelName::ResNet18, 1, 350), Some(309.83));
        assert_eq!(published(ModelName::ResNet18, 3, 350), None);
        assert_eq!(published(ModelName::LeNet5, 1, 224), None);
    }
}
