//! An inference step of DCGAN: images are made of noise, batch norm using its running statistics.
use alloc_tracker::phase;
use anyhow::Result;

use super::networks;
use crate::model::Network;
use crate::precision::Precision;
use crate::run::autocast::autocast;
use crate::run::error::During;
use crate::run::recording::Recording;
use crate::run::step::{Figures, Step};
use crate::settings::Settings;

/// A generator that only makes images.
pub(in crate::run) struct Generation {
    generator: Network,
    batch: u64,
    device: tch::Device,
    precision: Precision,
}

impl Generation {
    /// Makes `--batch` images in each step.
    pub(in crate::run) fn new(generator: Network, settings: &Settings) -> Generation {
        let (batch, device, precision) = (settings.batch, settings.device.into(), settings.precision);
        Generation { generator, batch, device, precision }
    }
}

impl Step for Generation {
    fn step(&mut self, recording: &Recording) -> Result<Figures> {
        let noise = {
            let _phase = phase!("data");
            networks::noise(self.batch, self.device).during("making the noise")?
        };
        // Until after the snapshot, so that it has the casts of the parameters.
        let autocast = autocast(self.precision).during("switching autocast on")?;
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
