//! What a run learns from on which day, and how much of what was held out it tells right.
//!
//! ```text
//! accuracy | day 1: step, step, ... | accuracy | day 2: step, step, ... | accuracy | ...
//! ```
//!
//! Accuracy is measured between steps, in a phase of its own, so neither the times nor the tables of the steps have it.
use alloc_tracker::phase;
use anyhow::{Context, Result, bail};
use tch::Kind;

use super::autocast::Numbers;
use super::error::During;
use crate::data::{Batches, ImageBatches, Portions};
use crate::model::Network;
use crate::settings::{Increment, Settings};

/// The images of a run by day, and those held out.
pub(super) struct Lessons {
    portions: Portions,
    increment: Increment,
    steps_a_day: u64,
    batch: usize,
    /// Accuracy is that of inference in these numbers.
    numbers: Numbers,
}

impl Lessons {
    /// What the settings ask for, dealt out from what `batches` are from.
    pub(super) fn of(settings: &Settings, batches: &Batches) -> Result<Option<Lessons>> {
        let Some(dealt) = settings.variation.dealt else { return Ok(None) };
        let images = batches.images().context("the checks let a run through that deals out images and has none")?;
        let portions = dealt.portions(images.len(), settings.seed)?;
        let steps_a_day = settings.steps / portions.days.len() as u64;
        Ok(Some(Lessons {
            portions,
            increment: settings.variation.increment,
            steps_a_day,
            batch: settings.batch as usize,
            numbers: Numbers::of(settings),
        }))
    }

    /// A day ends, or the first one begins, when so many steps are done. Measures the accuracy there, if images are held out,
    /// and has `batches` be of the next day's images.
    pub(super) fn between(&self, done: u64, network: &mut Network, batches: &mut Batches) -> Result<Option<f64>> {
        if !done.is_multiple_of(self.steps_a_day) {
            return Ok(None);
        }
        let Batches::Images(batches) = batches else { bail!("the checks let texts through that are dealt out by day") };
        let accuracy = self.accuracy(network, batches)?;
        if let Some(images) = self.images((done / self.steps_a_day) as usize) {
            batches.learn_from(images);
        }
        Ok(accuracy)
    }

    /// What is learned from on the day of this number, counted from 0.
    fn images(&self, day: usize) -> Option<Vec<usize>> {
        let today = self.portions.days.get(day)?;
        Some(match self.increment {
            Increment::New => today.clone(),
            Increment::All => self.portions.days[..=day].concat(),
        })
    }

    /// The share of the held-out images that the network tells right, as it does in inference.
    fn accuracy(&self, network: &mut Network, batches: &ImageBatches) -> Result<Option<f64>> {
        let held_out = &self.portions.held_out;
        if held_out.is_empty() {
            return Ok(None);
        }
        let _phase = phase!("accuracy");
        let _no_grad = tch::no_grad_guard();
        let mut right = 0;
        for images in held_out.chunks(self.batch) {
            let batch = batches.batch_of(images).during("making a batch of held-out images")?;
            let _autocast = self.numbers.autocast().during("switching autocast on")?;
            let logits = network.forward(&batch.inputs, false).during("telling held-out images apart")?;
            let told = logits.f_argmax(-1, false).during("telling held-out images apart")?;
            let is_right = told.f_eq_tensor(&batch.labels).during("comparing with the labels")?;
            right += is_right.f_sum(Kind::Int64).and_then(|sum| sum.f_int64_value(&[])).during("counting")?;
        }
        Ok(Some(right as f64 / held_out.len() as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::precision::Precision;

    #[test]
    fn days_learn_from_their_own_images_or_from_all_so_far() {
        let portions = Portions { held_out: vec![9], days: vec![vec![1, 2], vec![3, 4], vec![5, 6]] };
        let of = |increment| Lessons {
            portions: portions.clone(),
            increment,
            steps_a_day: 4,
            batch: 2,
            numbers: Numbers { precision: Precision::Fp32, device: tch::Device::Cpu },
        };
        assert_eq!(of(Increment::New).images(1), Some(vec![3, 4]));
        assert_eq!(of(Increment::All).images(1), Some(vec![1, 2, 3, 4]));
        assert_eq!(of(Increment::All).images(3), None, "behind the last day");
    }
}
