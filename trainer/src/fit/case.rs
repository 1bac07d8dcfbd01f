//! A network that is asked to train with so much memory: its peak at any batch, and the largest batch.
use anyhow::Result;

use super::forecast::{Forecast, Needed};
use crate::check;
use crate::cli::{FitTableArgs, MOST_INPUTS};
use crate::model::ModelName;
use crate::model::needs::{LayerBytes, by_layer, total};
use crate::model::peak::Step;
use crate::optimizer::Optimizer;

/// What a network is asked to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Case {
    pub(super) model: ModelName,
    pub(super) size: u64,
    pub(super) classes: u64,
    pub(super) optimizer: Optimizer,
}

impl Case {
    /// In the size of its reference, with as many classes.
    pub(super) fn reference(model: ModelName, optimizer: Optimizer) -> Case {
        let size = model.reference_size();
        Case { model, size, classes: model.reference_classes(), optimizer }
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
        Ok(Step::of(model, batch, size, classes, optimizer, None)?)
    }

    /// What `batch` needs, by `forecast`.
    pub(super) fn needed(&self, batch: u64, forecast: &Forecast) -> Result<Needed> {
        Ok(forecast.needed(batch, &self.step(batch)?))
    }

    /// Parameters, gradients, buffers and state, whatever the batch.
    pub(super) fn fixed(&self) -> Result<LayerBytes> {
        let Case { model, size, classes, optimizer } = *self;
        Ok(total(&by_layer(&model.stages(classes), 1, model.input_of(size), optimizer)?))
    }

    /// Whether a step of `batch` can be trained at all: batch norm wants several values a channel.
    pub(super) fn takes(&self, batch: u64) -> Result<()> {
        check::sizes(self.model, batch, self.size, self.classes, true)
    }

    /// The smallest batch that can be trained.
    pub(super) fn smallest(&self) -> u64 {
        if self.takes(1).is_ok() { 1 } else { 2 }
    }

    /// The largest batch that needs at most `budget` by `forecast`; 0 when not even the smallest fits.
    pub(super) fn largest(&self, budget: u64, forecast: &Forecast) -> Result<u64> {
        let fits = |batch: u64| -> Result<bool> { Ok(self.needed(batch, forecast)?.bytes() <= budget) };
        let (mut below, mut above) = (0, 1);
        while above <= MOST_INPUTS && fits(above)? {
            (below, above) = (above, above * 2);
        }
        above = above.min(MOST_INPUTS + 1);
        while above - below > 1 {
            let middle = below + (above - below) / 2;
            *(if fits(middle)? { &mut below } else { &mut above }) = middle;
        }
        Ok(if below < self.smallest() { 0 } else { below })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest batch is the last whose need is not above the budget.
    #[test]
    fn the_edge_is_where_the_need_passes_the_budget() {
        let case = Case::reference(ModelName::LeNet5, Optimizer::default());
        let forecast = Forecast::of_shapes(1_000_000);
        let needed = |batch| case.needed(batch, &forecast).expect("fits").bytes();
        for budget in [3_000_000, 11_000_000] {
            let largest = case.largest(budget, &forecast).expect("fits");
            assert!(largest > 0);
            assert!(needed(largest) <= budget && needed(largest + 1) > budget);
        }
        assert_eq!(case.largest(1_001_000, &forecast).expect("fits"), 0, "not even the parameters");
        assert_eq!(case.largest(u64::MAX, &forecast).expect("fits"), MOST_INPUTS, "more are not supported");
    }

    /// At 32 pixels ResNet-18's last maps have one value a channel and image: one image has no batch statistics.
    #[test]
    fn a_network_that_cannot_train_on_one_image() {
        let at = |size| Case { size, ..Case::reference(ModelName::ResNet18, Optimizer::default()) };
        assert_eq!((at(32).smallest(), at(64).smallest()), (2, 1));
        let two = at(32).needed(2, &Forecast::default()).expect("fits").bytes();
        assert_eq!(at(32).largest(two, &Forecast::default()).expect("fits"), 2);
        assert_eq!(at(32).largest(two - 1, &Forecast::default()).expect("fits"), 0, "one fits and does not train");
    }
}
