//! What the stages of a chain cost. Each stage reads the map that the one before it left; the last one is the loss.

/// What one stage costs. All bytes are those of a whole batch.
///
/// "Above" in a peak means: above what was live before the operation. The input of the stage is live then, and its gradients
/// and saved bytes as far as there are any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Its name: that of a layer, or of the first and the last of several.
    pub name: String,
    /// The map that it leaves. The gradient of the map is as large.
    pub output_bytes: u64,
    /// What its graph keeps for the backward pass, its output too if it needs that. Its input is not counted: somebody else
    /// made it.
    pub saved_bytes: u64,
    /// What the graph and the output take together: less than their sum where the graph keeps the output.
    pub saved_and_output_bytes: u64,
    /// The gradients of its parameters. They live from its backward pass to the end of the step.
    pub gradient_bytes: u64,
    /// The most that is live in a forward pass that saves nothing, above; its output counts.
    pub forward_peak_bytes: u64,
    /// The most that is live in a forward pass that saves, above; its output and what is saved count.
    pub saving_peak_bytes: u64,
    /// The most that is live in its backward pass, above; the gradients of its input and of its parameters count.
    pub backward_peak_bytes: u64,
    /// Time of a forward pass.
    pub forward_ns: u64,
    /// Time of the backward pass.
    pub backward_ns: u64,
}

/// A chain of stages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// What is live throughout: parameters, the optimizer's state, the input of the first stage.
    pub fixed_bytes: u64,
    /// The most that is live while the optimizer updates the parameters, above that: all of their gradients, and what the
    /// optimizer takes for a while. No schedule changes it.
    pub update_peak_bytes: u64,
    /// The stages in order, the loss last. The backward pass starts at the loss, so nobody hands it a gradient.
    pub stages: Vec<Stage>,
}

impl Chain {
    /// Bytes of the gradient that is handed to a stage.
    pub(crate) fn handed_bytes(&self, stage: usize) -> u64 {
        if stage + 1 == self.stages.len() { 0 } else { self.stages[stage].output_bytes }
    }

    /// Time of a step that computes nothing twice.
    pub fn least_ns(&self) -> u64 {
        self.stages.iter().map(|stage| stage.forward_ns + stage.backward_ns).sum()
    }
}
