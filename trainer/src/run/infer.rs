//! An inference step: without gradients each map is freed as soon as the next one exists.
use alloc_tracker::phase;
use anyhow::Result;

use super::autocast::autocast;
use super::error::During;
use super::recording::Recording;
use super::step::{Figures, Step};
use crate::data::Batches;
use crate::model::Network;
use crate::precision::Precision;

/// A network that only runs forward, batch norm with its running statistics.
pub(super) struct Inference {
    network: Network,
    batches: Batches,
    precision: Precision,
}

impl Inference {
    /// Takes the network as it is, to be run by `forward`.
    pub(super) fn new(network: Network, batches: Batches, precision: Precision) -> Inference {
        Inference { network, batches, precision }
    }
}

impl Step for Inference {
    fn step(&mut self, recording: &Recording) -> Result<Figures> {
        let batch = {
            let _phase = phase!("data");
            self.batches.next_batch().during("making the batch")?
        };
        // Until after the snapshot, so that it has the casts of the parameters.
        let autocast = autocast(self.precision).during("switching autocast on")?;
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
