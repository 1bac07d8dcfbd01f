//! An inference step: without gradients each map is freed as soon as the next one exists.
use alloc_tracker::phase;
use anyhow::Result;

use super::error::During;
use super::recording::Recording;
use super::step::Step;
use crate::data::Batches;
use crate::model::Network;

/// A network that only runs forward, batch norm with its running statistics.
pub(super) struct Inference {
    network: Network,
}

impl Inference {
    /// Takes the network as it is, to be run by `forward`.
    pub(super) fn new(network: Network) -> Inference {
        Inference { network }
    }
}

impl Step for Inference {
    fn step(&mut self, batches: &mut Batches, recording: &Recording) -> Result<Option<f64>> {
        let batch = {
            let _phase = phase!("data");
            batches.next_batch().during("making the batch")?
        };
        let logits = {
            let _phase = phase!("infer");
            let _no_grad = tch::no_grad_guard();
            self.network.forward(&batch.inputs, false).during("inference")?
        };
        recording.snapshot("end of inference");
        drop(logits);
        Ok(None)
    }
}
