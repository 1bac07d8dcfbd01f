//! The memory that the seed document 002 (Kukreja, Shilova and others, "Training neural networks on the edge") publishes for
//! ResNets, and what follows from it.
//!
//! Its batches lie on straight lines to the last printed digit: a constant and so much for each image. The constants here are
//! those of the least-squares lines through the document's six batches. How it came to them it does not say. From shapes,
//! four copies of the parameters (weights, gradients, Adam's two states) and every map of every module twice (itself and its
//! gradient) come within 4 % of all thirty numbers, and that works for every network and size: see [`every_map_twice`].
use crate::model::ModelName;
use crate::model::op::Op;
use crate::model::plan::F32;
use crate::model::shape::{self, Misfit, Shape};

/// Image size of the lines.
const SIDE: u64 = 224;
/// MiB of any batch, and of each image.
const LINES: [(ModelName, f64, f64); 5] = [
    (ModelName::ResNet18, 175.0450, 55.002_73),
    (ModelName::ResNet34, 329.2825, 83.713_79),
    (ModelName::ResNet50, 384.8511, 235.418_82),
    (ModelName::ResNet101, 674.6527, 352.559_33),
    (ModelName::ResNet152, 913.3557, 497.262_48),
];
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
    let index = LINES.iter().position(|(of, ..)| *of == model)?;
    let (_, constant, an_image) = LINES[index];
    if side == SIDE {
        return Some(constant + an_image * batch as f64);
    }
    let (_, sizes) = SIZES.iter().find(|(of, _)| *of == side && batch == 1)?;
    Some(sizes[index])
}

/// Bytes by the document's reading: four copies of the parameters, and the output of every module twice.
pub(super) fn every_map_twice(model: ModelName, batch: u64, input: Shape, classes: u64) -> Result<u64, Misfit> {
    let stages = model.stages(classes);
    let parameters: u64 = stages.iter().map(|stage| stage.op.parameters()).sum();
    // A sum, a concatenation and a view are no modules.
    let is_module = |op: Op| !matches!(op, Op::Add(_) | Op::Concat | Op::Flatten | Op::Loss(_));
    let shapes = shape::shapes(&stages, input)?;
    let of_modules = stages.iter().zip(&shapes[1..]).filter(|(stage, _)| is_module(stage.op));
    let maps: u64 = of_modules.map(|(_, shape)| shape.elements()).sum();
    Ok((4 * parameters + 2 * batch * maps) * F32)
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

    /// All thirty numbers to 0.01 MiB.
    #[test]
    fn the_lines_reproduce_the_table_of_batches() {
        for (batch, expected) in BATCHES {
            for ((model, ..), expected) in LINES.into_iter().zip(expected) {
                let found = published(model, batch, 224).expect("a ResNet");
                assert!((found - expected).abs() < 0.01, "{model}, batch {batch}: {found} and not {expected}");
            }
        }
    }

    /// From shapes: within 4 % of all thirty.
    #[test]
    fn every_map_twice_comes_near() {
        for (batch, expected) in BATCHES {
            for ((model, ..), expected) in LINES.into_iter().zip(expected) {
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
