//! What a step of DQN does, in training and in inference.
mod seen;

mod play;
mod train;

pub(super) use self::play::Playing;
pub(super) use self::train::QLearning;
