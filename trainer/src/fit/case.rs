//! A network that is asked to train with so much memory: its peak at any batch, and the largest batch.
use anyhow::Result;

use crate::cli::FitTableArgs;
use crate::model::ModelName;
use crate::model::peak::Step;
use crate::optimizer::Optimizer;

/// No batch beyond this is considered.
const MOST: u64 = 1 << 20;

/// What a network is asked to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) model: ModelName,
    pub(super) size: u64,
    pub(super) classes: u64,
    pub(super) optimizer: Optimizer,
}

impl Case {
    /// In the size of its reference, with as many classes.
    pub(super) fn reference(model: ModelName, optimizer: Optimizer) -> Case {
        Case { model, size: model.input().size(), classes: model.reference_classes(), optimizer }
    }

    /// The same, unless a size or the classes were typed.
    pub(super) fn asked(model: ModelName, args: &FitTableArgs) -> Case {
        let input = args.work.input;
        let typed = if model.reads_text() { input.length } else { input.image_size };
        let Case { size, classes, .. } = Case::reference(model, args.optimizer);
        Case {
            model,
            size: typed.unwrap_or(size),
            classes: input.classes.unwrap_or(classes),
            optimizer: args.optimizer,
        }
    }

    /// A step of `batch`.
    pub(super) fn step(&self, batch: u64) -> Result<Step> {
        let Case { model, size, classes, optimizer } = *self;
        Ok(Step::new(&model.stages(classes), batch, model.input_of(size), optimizer)?)
    }

    /// Bytes at the predicted peak.
    pub(super) fn peak(&self, batch: u64) -> Result<u64> {
        Ok(self.step(batch)?.peak().bytes)
    }

    /// The largest batch whose peak is at most `bytes`; 0 when not even one input fits.
    pub(super) fn largest(&self, bytes: u64) -> Result<u64> {
        let (mut fits, mut above) = (0, 1);
        while above < MOST && self.peak(above)? <= bytes {
            (fits, above) = (above, above * 2);
        }
        while above - fits > 1 {
            let middle = fits + (above - fits) / 2;
            *(if self.peak(middle)? <= bytes { &mut fits } else { &mut above }) = middle;
        }
        Ok(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest batch is the last whose peak is not above the bytes.
    #[test]
    fn the_edge_is_where_the_peak_passes_the_budget() {
        let case = Case { model: ModelName::LeNet5, size: 32, classes: 10, optimizer: Optimizer::default() };
        for bytes in [2_000_000, 10_000_000] {
            let largest = case.largest(bytes).expect("fits");
            assert!(largest > 0);
            assert!(case.peak(largest).expect("fits") <= bytes);
            assert!(case.peak(largest + 1).expect("fits") > bytes);
        }
        assert_eq!(case.largest(1000).expect("fits"), 0, "not even the parameters");
    }
}
