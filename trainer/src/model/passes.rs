//! The passes of a training step: most networks have one, DCGAN has three.
use std::collections::BTreeMap;

use serde::Serialize;

use super::name::ModelName;
use super::plan::{input_bytes, saved_for_backward};
use super::shape::{Misfit, Shape};
use super::stage::Stage;
use super::zoo::dcgan;

/// A pass forward with its loss, from which a backward pass starts.
#[derive(Clone, Debug)]
pub struct Pass {
    /// What the names of its phases begin with: those of `generator` are `generator/forward` and so on. Empty where a step
    /// has one pass.
    pub name: &'static str,
    /// What is computed in it, and what was computed before it and is still kept for a backward pass.
    pub stages: Vec<Stage>,
    /// What it begins with.
    pub input: Shape,
}

/// What is kept for backward passes at the end of a pass.
#[derive(Clone, Debug, Serialize)]
pub struct SavedByPass {
    /// The pass's name.
    pub name: &'static str,
    /// In all.
    pub saved_bytes: u64,
    /// By the layer that allocated it.
    pub saved_for_backward: BTreeMap<String, u64>,
}

/// What is kept at the end of each pass, for batches of so many.
pub fn saved_by_pass(passes: &[Pass], batch: u64) -> Result<Vec<SavedByPass>, Misfit> {
    let saved = |pass: &Pass| {
        let saved = saved_for_backward(&pass.stages, batch, pass.input)?;
        Ok(SavedByPass { name: pass.name, saved_bytes: saved.values().sum(), saved_for_backward: saved })
    };
    passes.iter().map(saved).collect()
}

/// Bytes of what the passes begin with; what two passes share counts once.
pub fn input_bytes_of(passes: &[Pass], batch: u64) -> u64 {
    let mut inputs: Vec<Shape> = passes.iter().map(|pass| pass.input).collect();
    inputs.dedup();
    inputs.into_iter().map(|input| input_bytes(batch, input)).sum()
}

impl ModelName {
    /// The passes of a training step, in order, for inputs of this size and so many classes.
    ///
    /// In `discriminator/fake` the generator's maps are kept, although the backward pass of that pass does not reach them:
    /// they are there for `generator`.
    pub fn passes(self, size: u64, classes: u64) -> Vec<Pass> {
        let longest = |name| Pass { name, stages: self.stages(classes), input: self.input_of(size) };
        match self {
            ModelName::Dcgan => vec![
                Pass {
                    name: "discriminator/real",
                    stages: dcgan::judging(),
                    input: Shape::Maps { channels: dcgan::CHANNELS, side: dcgan::SIDE },
                },
                longest("discriminator/fake"),
                longest("generator"),
            ],
            _ => vec![longest("")],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two images of 3 x 64 x 64 and two times 100 numbers, which two passes share.
    #[test]
    fn passes_of_dcgan() {
        let passes = ModelName::Dcgan.passes(64, 1);
        assert_eq!(
            passes.iter().map(|pass| pass.name).collect::<Vec<_>>(),
            ["discriminator/real", "discriminator/fake", "generator"]
        );
        assert_eq!(input_bytes_of(&passes, 2), 2 * (3 * 64 * 64 + 100) * 4);
        let saved = saved_by_pass(&passes, 2).expect("fits");
        assert_eq!(saved[1].saved_for_backward, saved[2].saved_for_backward);
        assert_eq!(saved[2].saved_bytes - saved[0].saved_bytes, {
            let maps = 2 * (512 * 4 * 4 + 256 * 8 * 8 + 128 * 16 * 16 + 64 * 32 * 32) + 3 * 64 * 64;
            2 * maps * 4 + (512 + 256 + 128 + 64) * 8
        });
    }

    #[test]
    fn all_others_have_one() {
        let passes = ModelName::ResNet18.passes(64, 10);
        assert_eq!((passes.len(), passes[0].name), (1, ""));
    }
}
