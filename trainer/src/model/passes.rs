//! The passes of a training step: most networks have one, DCGAN has three.
use super::name::ModelName;
use super::shape::Shape;
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

impl Pass {
    /// The name of the snapshot at its end, when all that the backward pass needs is there.
    pub fn end(&self) -> String {
        if self.name.is_empty() { "end of forward".to_owned() } else { format!("end of {}/forward", self.name) }
    }
}

impl ModelName {
    /// The passes of a training step, in order, for images of this side and so many classes.
    ///
    /// In `discriminator/fake` the generator's maps are kept, although the backward pass of that pass does not reach them:
    /// they are there for `generator`.
    pub fn passes(self, side: u64, classes: u64) -> Vec<Pass> {
        let longest = |name| Pass { name, stages: self.stages(classes), input: self.input_of(side) };
        match self {
            ModelName::Dcgan => vec![
                Pass {
                    name: "discriminator/real",
                    stages: dcgan::judging(),
                    input: Shape { channels: dcgan::CHANNELS, side: dcgan::SIDE },
                },
                longest("discriminator/fake"),
                longest("generator"),
            ],
            _ => vec![longest("")],
        }
    }
}
