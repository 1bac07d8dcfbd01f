//! An inference step of DCGAN: images are made of noise, batch norm using its running statistics.
use alloc_tracker::phase;
use anyhow::Result;

use super::networks;
use crate::model::Network;
use crate::run::autocast::Numbers;
use crate::run::error::During;
use crate::run::recording::Recording;
use crate::run::step::{Figures, Step};
use crate::settings::Settings;

/// A generator that only makes images.
pub(in crate::run) struct Generation {
    generator: Network,
    batch: u64,
    numbers: Numbers,
}

impl Generation {
    /// Makes `--batch` images in each step.
    pub(in crate::run) fn new(generator: Network, settings: &Settings) -> Generation {
        Generation { generator, batch: settings.batch, numbers: Numbers::of(settings) }
    }
}

impl Step for Generation {
    fn step(&mut self, recording: &Recording) -> Result<Figures> {
        let noise = {
            let _phase = phase!("data");
            networks::noise(self.batch, self.numbers.device).during("making the noise")?
        };
        // Until after the snapshot, so that it has the casts of the parameters.
        let autocast = self.numbers.autocast().during("switching autocast on")?;
        let images = {
            let _phase = phase!("infer");
            let _no_grad = tch::no_grad_guard();
            self.generator.forward(&noise, false).during("inference")?
        };
        recording.snapshot("end of inference");
        drop((images, autocast));
        Ok(Figures::new())
    }
}
