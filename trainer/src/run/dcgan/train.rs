//! A training step of DCGAN: three passes and two updates, in the order of PyTorch's example. Each pass has phases of its
//! own, whose names begin with the pass's.
//!
//! | phase                              | alive at its end, besides parameters and the optimizers' state            |
//! |------------------------------------|---------------------------------------------------------------------------|
//! | data                               | real images, noise, labels                                                |
//! | discriminator/real/forward, /loss  | + the discriminator's maps of the real images, loss                       |
//! | discriminator/real/backward        | - these maps, real images, + the discriminator's gradients                |
//! | generator/forward                  | + the generator's maps, made images                                       |
//! | discriminator/fake/forward, /loss  | + the discriminator's maps of the made images, loss                       |
//! | discriminator/fake/backward        | - these maps; the gradients are added to those of the real images         |
//! | discriminator/optimizer            | - the discriminator's gradients                                           |
//! | generator/forward, /loss           | + the discriminator's maps of the made images once more, loss             |
//! | generator/backward                 | - all maps, noise, + gradients of both networks                           |
//! | generator/optimizer                | - gradients                                                               |
//!
//! There is a snapshot at the end of each pass's loss (`end of generator/forward`) and of its backward pass (`end of
//! generator/backward`), and one `end of step`. Those of the generator's pass are there as `end of forward` and `end of
//! backward` as well.
//!
//! The discriminator judges the made images twice, because it has been updated in between. Its second backward pass reaches
//! the generator through it, and leaves gradients that nobody uses at the discriminator's own parameters; they are let go
//! with the generator's. In the pass `discriminator/fake` the made images are cut off from the generator's graph, which stays
//! for the pass `generator`: that is why the generator's maps are alive in both.
use alloc_tracker::{layer, phase};
use anyhow::Result;
use tch::{Kind, Reduction, Tensor};

use super::networks;
use crate::data::Batches;
use crate::model::Network;
use crate::model::plan::LOSS_LAYER;
use crate::optimizer::{Optimizer, Updater};
use crate::run::autocast::Numbers;
use crate::run::backward::backward;
use crate::run::error::During;
use crate::run::recording::Recording;
use crate::run::step::{Figures, Step};
use crate::settings::Settings;

/// The pass that keeps most, and the last one.
const GENERATOR: &str = "generator";

/// Two networks that learn from each other, and what updates each.
pub(in crate::run) struct Adversaries {
    generator: Network,
    discriminator: Network,
    update_generator: Updater,
    update_discriminator: Updater,
    batches: Batches,
    batch: u64,
    numbers: Numbers,
}

/// What a step works on.
struct Batch {
    /// `[N, 3, 64, 64]`, from -1 to 1.
    real: Tensor,
    /// `[N, 100, 1, 1]`
    noise: Tensor,
    /// `[N]`: 1, which is what real images are to be held for.
    ones: Tensor,
    /// `[N]`: 0, which is what made images are to be held for.
    zeros: Tensor,
}

impl Adversaries {
    /// Both networks are updated by an optimizer of the same settings.
    pub(in crate::run) fn new(
        [generator, discriminator]: [Network; 2],
        optimizer: Optimizer,
        batches: Batches,
        settings: &Settings,
    ) -> Result<Adversaries> {
        let updater = |network: &Network| {
            Updater::new(optimizer, network.store().trainable_variables()).during("making the optimizer")
        };
        Ok(Adversaries {
            update_generator: updater(&generator)?,
            update_discriminator: updater(&discriminator)?,
            generator,
            discriminator,
            batches,
            batch: settings.batch,
            numbers: Numbers::of(settings),
        })
    }

    fn batch(&mut self) -> Result<Batch> {
        let batch = self.batches.next_batch().during("making the batch")?;
        let label = |value: f64| {
            Tensor::f_full([self.batch as i64], value, (Kind::Float, self.numbers.device)).during("making the labels")
        };
        Ok(Batch {
            real: batch.inputs,
            noise: networks::noise(self.batch, self.numbers.device).during("making the noise")?,
            ones: label(1.0)?,
            zeros: label(0.0)?,
        })
    }

    /// Has the discriminator judge `images` in a pass of this name, whose loss says how far from `labels` that is, and goes
    /// back. Returns the loss.
    fn judge(&mut self, pass: &str, images: Tensor, labels: &Tensor, recording: &Recording) -> Result<f64> {
        let loss = {
            let _autocast = self.numbers.autocast().during("switching autocast on")?;
            let verdicts = {
                let _phase = phase!(&format!("{pass}/forward"));
                self.discriminator.forward(&images, true).during("the forward pass of the discriminator")?
            };
            // The graph has them as long as it needs them.
            drop(images);
            let _phase = phase!(&format!("{pass}/loss"));
            let _layer = layer!(LOSS_LAYER);
            binary_cross_entropy(verdicts, labels).during("the loss")?
        };
        mark_end(pass, "forward", recording);
        let value = {
            let _phase = phase!(&format!("{pass}/backward"));
            backward(loss).during("the backward pass")?
        };
        mark_end(pass, "backward", recording);
        Ok(value)
    }
}

impl Step for Adversaries {
    fn step(&mut self, recording: &Recording) -> Result<Figures> {
        let Batch { real, noise, ones, zeros } = {
            let _phase = phase!("data");
            self.batch()?
        };
        let on_real = self.judge("discriminator/real", real, &ones, recording)?;
        let made = {
            let _autocast = self.numbers.autocast().during("switching autocast on")?;
            let _phase = phase!("generator/forward");
            self.generator.forward(&noise, true).during("the forward pass of the generator")?
        };
        drop(noise);
        let cut_off = made.f_detach().during("cutting off the generator's graph")?;
        let on_made = self.judge("discriminator/fake", cut_off, &zeros, recording)?;
        {
            let _phase = phase!("discriminator/optimizer");
            self.update_discriminator.update().during("the discriminator's optimizer")?;
        }
        let of_generator = self.judge(GENERATOR, made, &ones, recording)?;
        {
            let _phase = phase!("generator/optimizer");
            self.update_generator.update().during("the generator's optimizer")?;
            self.update_discriminator.zero_grad().during("the generator's optimizer")?;
        }
        recording.snapshot("end of step");
        Ok(vec![("discriminator_loss", on_real + on_made), ("generator_loss", of_generator)])
    }
}

/// Snapshots at the end of a pass forward or backward: `end of generator/forward`. The pass that keeps most also has the
/// names that networks with one pass have.
fn mark_end(pass: &str, direction: &str, recording: &Recording) {
    recording.snapshot(&format!("end of {pass}/{direction}"));
    if pass == GENERATOR {
        recording.snapshot(&format!("end of {direction}"));
    }
}

/// Mean of -log(p) where the label is 1 and -log(1 - p) where it is 0, over verdicts `[N, 1, 1, 1]`; one f32.
fn binary_cross_entropy(verdicts: Tensor, labels: &Tensor) -> tch::Result<Tensor> {
    let flat = verdicts.f_view([-1])?;
    drop(verdicts);
    flat.f_binary_cross_entropy(labels, None::<&Tensor>, Reduction::Mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Verdicts of 1/2 are -ln(1/2) away from both labels; one of 1/4 is -ln(3/4) away from 0.
    #[test]
    fn cross_entropy_of_verdicts() {
        let loss = |verdicts: &[f32], labels: &[f32]| {
            let verdicts = Tensor::from_slice(verdicts).view([-1, 1, 1, 1]);
            binary_cross_entropy(verdicts, &Tensor::from_slice(labels)).expect("computes").double_value(&[])
        };
        assert!((loss(&[0.5, 0.5], &[0.0, 1.0]) - 2f64.ln()).abs() < 1e-6);
        assert!((loss(&[0.25], &[0.0]) + 0.75f64.ln()).abs() < 1e-6);
    }
}
