//! How a training step makes one number of what a network leaves, where that is not the cross-entropy of classes.

/// The layer under which the trainer computes the loss.
pub const LOSS_LAYER: &str = "loss";

/// A loss, as the last stage of a network: it is computed by the step and not by the network, and the plan knows what it
/// keeps. A network whose list has none ends with the cross-entropy of classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Mean binary cross-entropy of one probability for each input.
    BinaryCrossEntropy,
    /// Mean Huber loss of the worth of one action for each input.
    Huber,
}
