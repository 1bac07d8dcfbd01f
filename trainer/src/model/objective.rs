//! What a network learns, which decides what a training step does.

/// What a network learns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// To tell classes apart: one pass forward and backward, then an update.
    Classes,
    /// To make images that another network cannot tell from real ones: three passes and two updates.
    Adversarial,
    /// What each action is worth in a game that it plays by itself.
    QLearning,
}

impl Objective {
    /// Where what a network works on comes from, when no data is read.
    pub fn own_data(self) -> &'static str {
        match self {
            Objective::Classes => "none",
            Objective::Adversarial => "noise",
            Objective::QLearning => "catch, a game that is built in",
        }
    }
}
