//! A training step that computes some parts of the network twice, so that less is kept: see `checkpoint`. Its phases are those of
//! `train`, with `recompute` besides.
use alloc_tracker::phase;
use anyhow::Result;
use trainer_checkpoint::{Keep, Operation};

use super::error::During;
use super::recording::Recording;
use super::step::{Figures, Step};
use crate::checkpoint::{self, Moment, Prepared};
use crate::data::Batches;
use crate::model::Network;
use crate::optimizer::{Optimizer, Updater};

/// The name of the figure that says how long parts were computed again.
pub(super) const RECOMPUTE: &str = "recompute_seconds";

/// A network, what updates its parameters, what it learns from, and the plan of a step.
pub(super) struct Checkpointed {
    network: Network,
    batches: Batches,
    updater: Updater,
    plan: Prepared,
}

impl Checkpointed {
    /// The optimizer over all trainable variables.
    pub(super) fn new(
        network: Network,
        optimizer: Optimizer,
        batches: Batches,
        plan: Prepared,
    ) -> Result<Checkpointed> {
        let updater = Updater::new(optimizer, network.store().trainable_variables());
        Ok(Checkpointed { network, batches, updater: updater.during("making the optimizer")?, plan })
    }
}

impl Step for Checkpointed {
    fn step(&mut self, recording: &Recording) -> Result<Figures> {
        let batch = {
            let _phase = phase!("data");
            self.batches.next_batch().during("making the batch")?
        };
        let loss = self.plan.parts.len();
        let mut watch = |moment, operation| {
            if (moment, operation) == (Moment::After, Operation::Forward { stage: loss, keep: Keep::All }) {
                recording.snapshot("end of forward");
            }
        };
        let Prepared { parts, schedule, .. } = &self.plan;
        let ran = checkpoint::step(&mut self.network, parts, schedule, (&batch.inputs, &batch.labels), &mut watch);
        let ran = ran.during("a step with checkpoints")?;
        recording.snapshot("end of backward");
        {
            let _phase = phase!("optimizer");
            self.updater.update().during("the optimizer")?;
        }
        recording.snapshot("end of step");
        Ok(vec![("loss", ran.loss), (RECOMPUTE, ran.recompute.as_secs_f64())])
    }
}
