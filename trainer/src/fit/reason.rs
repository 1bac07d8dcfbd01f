//! What makes a network fail in a budget, from the outside in: the process, what no batch changes, one layer's maps, all maps, or
//! the workspace of an operator.
use alloc_timeline::Category;
use anyhow::Result;
use serde::Serialize;

use super::case::Case;
use super::forecast::Forecast;
use crate::figures::mib;

/// The first of these that is too much; what comes later in the list is, then, too much as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Reason {
    /// What the process needs before it has a network.
    Process { process_bytes: u64 },
    /// The weights, with batch norm's statistics, beside the process.
    Weights { bytes: u64 },
    /// Weights, gradients and optimizer state, which no batch changes.
    WeightsAndState { weight_bytes: u64, gradient_bytes: u64, state_bytes: u64 },
    /// The maps that one layer made, beside the weights, gradients and state that are there at the peak.
    OneLayer { batch: u64, layer: String, bytes: u64, besides_bytes: u64 },
    /// The maps and their gradients that are live at once.
    Maps { batch: u64, bytes: u64, besides_bytes: u64, layer: String, layer_bytes: u64 },
    /// The memory inside of an operator: what else is live would fit.
    Workspace { batch: u64, bytes: u64, phase: String, layer: String },
}

impl Reason {
    /// Why `batch` does not fit into `budget`; `None` when it fits.
    pub(super) fn of(case: &Case, batch: u64, budget: u64, forecast: &Forecast) -> Result<Option<Reason>> {
        let step = case.step(batch)?;
        let needed = forecast.needed(batch, &step);
        if needed.bytes() <= budget {
            return Ok(None);
        }
        let process_bytes = forecast.process_bytes();
        let Some(room) = budget.checked_sub(process_bytes).filter(|&room| room > 0) else {
            return Ok(Some(Reason::Process { process_bytes }));
        };
        let fixed = case.fixed()?;
        let weight_bytes = fixed.parameters + fixed.buffers;
        let (gradient_bytes, state_bytes) = (fixed.gradients, fixed.optimizer_state);
        let by_category = step.by_category();
        let at_peak = |categories: &[Category]| -> u64 {
            categories.iter().filter_map(|category| by_category.get(category)).sum()
        };
        let besides_bytes =
            at_peak(&[Category::Parameter, Category::Buffer, Category::Gradient, Category::OptimizerState]);
        let (layer, layer_bytes) = step.largest_layer(Category::Activation);
        Ok(Some(if weight_bytes > room {
            Reason::Weights { bytes: weight_bytes }
        } else if weight_bytes + gradient_bytes + state_bytes > room {
            Reason::WeightsAndState { weight_bytes, gradient_bytes, state_bytes }
        } else if besides_bytes + layer_bytes > room {
            Reason::OneLayer { batch, layer, bytes: layer_bytes, besides_bytes }
        } else if step.peak().bytes > room {
            let bytes = at_peak(&[Category::Activation, Category::Input]);
            Reason::Maps { batch, bytes, besides_bytes, layer, layer_bytes }
        } else {
            let bytes = needed.workspace_bytes;
            Reason::Workspace { batch, bytes, phase: needed.phase, layer: needed.layer }
        }))
    }

    /// In words. `input` is what a batch consists of: `image` or `text`.
    pub(super) fn text(&self, input: &str) -> String {
        let of = |batch: u64| if batch == 1 { format!("one {input}") } else { format!("{batch} {input}s") };
        match self {
            Reason::Process { process_bytes } => {
                format!("the process alone needs {}, before it has a network", mib(*process_bytes))
            }
            Reason::Weights { bytes } => format!("the weights alone are too large: {}", mib(*bytes)),
            Reason::WeightsAndState { weight_bytes, gradient_bytes, state_bytes } => format!(
                "weights, gradients and optimizer state alone are too large, whatever the batch: {} + {} + {}",
                mib(*weight_bytes),
                mib(*gradient_bytes),
                mib(*state_bytes)
            ),
            Reason::OneLayer { batch, layer, bytes, besides_bytes } => format!(
                "the maps of one layer alone are too large: {layer} makes {} of {}, beside {} of weights, gradients and state",
                mib(*bytes),
                of(*batch),
                mib(*besides_bytes)
            ),
            Reason::Maps { batch, bytes, besides_bytes, layer, layer_bytes } => format!(
                "the maps of {} are too large together: {}, the most of them from {layer} ({}), beside {} of weights, \
                 gradients and state",
                of(*batch),
                mib(*bytes),
                mib(*layer_bytes),
                mib(*besides_bytes)
            ),
            Reason::Workspace { batch, bytes, phase, layer } => format!(
                "the workspace of {layer} in {phase} is too large: {} for {}; without it the step would fit",
                mib(*bytes),
                of(*batch)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelName;
    use crate::optimizer::Optimizer;

    const MIB: u64 = 1 << 20;

    /// What makes a batch of VGG-16, as its reference has it, fail in so many MiB, with 80 for the process.
    fn vgg16(batch: u64, budget: u64) -> Option<Reason> {
        let case = Case::reference(ModelName::Vgg16, Optimizer::default());
        Reason::of(&case, batch, budget * MIB, &Forecast::of_shapes(80 * MIB)).expect("224 pixels fit")
    }

    /// 138,357,544 parameters of 4 bytes, 527.8 MiB, three times with gradients and momentum: 1,583.4 MiB. The first map of
    /// conv1_1, 64 x 224 x 224, has 12.25 MiB an image.
    #[test]
    fn from_the_outside_in() {
        let weights = 138_357_544 * 4;
        assert_eq!(vgg16(1, 64), Some(Reason::Process { process_bytes: 80 * MIB }));
        assert_eq!(vgg16(1, 80), Some(Reason::Process { process_bytes: 80 * MIB }), "nothing is left");
        assert_eq!(vgg16(1, 512), Some(Reason::Weights { bytes: weights }));
        let state = Reason::WeightsAndState { weight_bytes: weights, gradient_bytes: weights, state_bytes: weights };
        assert_eq!(vgg16(1, 1024), Some(state));
        let Some(Reason::OneLayer { batch: 64, bytes, .. }) = vgg16(64, 2048) else { panic!("{:?}", vgg16(64, 2048)) };
        assert_eq!(bytes, 64 * 64 * 224 * 224 * 4, "a map of 64 channels");
        assert!(matches!(vgg16(64, 4096), Some(Reason::Maps { batch: 64, .. })), "{:?}", vgg16(64, 4096));
        assert_eq!(vgg16(64, 8192), None);
    }

    #[test]
    fn every_reason_in_words() {
        let says = |reason: Option<Reason>| reason.expect("a reason").text("image");
        assert_eq!(says(vgg16(1, 64)), "the process alone needs 80.0 MiB, before it has a network");
        assert_eq!(says(vgg16(1, 512)), "the weights alone are too large: 527.8 MiB");
        assert_eq!(
            says(vgg16(1, 1024)),
            "weights, gradients and optimizer state alone are too large, whatever the batch: 527.8 MiB + 527.8 MiB + 527.8 MiB"
        );
        let workspace = Reason::Workspace { batch: 1, bytes: MIB, phase: "forward".into(), layer: "conv1".into() };
        assert_eq!(
            workspace.text("image"),
            "the workspace of conv1 in forward is too large: 1.0 MiB for one image; without it the step would fit"
        );
        assert!(says(vgg16(64, 2048)).starts_with("the maps of one layer alone are too large: features."));
        assert!(says(vgg16(64, 4096)).starts_with("the maps of 64 images are too large together: "));
    }
}
