//! An inference step: without gradients each map is freed as soon as the next one exists.
use alloc_tracker::phase;
use anyhow::Result;

use super::autocast::Numbers;
use super::error::During;
use super::recording::Recording;
use super::step::{Figures, Step};
use crate::data::Batches;
use crate::model::Network;

/// A network that only runs forward, batch norm with its running statistics.
pub(super) struct Inference {
    network: Network,
    batches: Batches,
    numbers: Numbers,
}

impl Inference {
    /// Takes the network as it is, to be run by `forward`.
    pub(super) fn new(network: Network, batches: Batches, numbers: Numbers) -> Inference {
        Inference { network, batches, numbers }
    }
}

impl Step for Inference {
    fn step(&mut self, recording: &Recording) -> Result<Figures> {
        let batch = {
            let _phase = phase!("data");
            self.batches.next_batch().during("making the batch")?
        };
        // Until after the snapshot, so that it has the casts of the parameters.
        let autocast = self.numbers.autocast().during("switching autocast on")?;
        let logits = {
            let _phase = phase!("infer");
            let _no_grad = tch::no_grad_guard();
            self.network.forward(&batch.inputs, false).during("inference")?
        };
        recording.snapshot("end of inference");
        drop((logits, autocast));
        Ok(Figures::new())
    }
}
