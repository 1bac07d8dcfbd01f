//! The deep Q-network of Mnih et al. (2015): four frames of 84 x 84 to the worth of each action.
use crate::model::loss::{LOSS_LAYER, Loss};
use crate::model::op::{Op, Place};
use crate::model::stage::{Chain, Stage};

/// Frames that are seen at once.
pub const FRAMES: u64 = 4;
/// Height and width of the frames, in pixels.
pub const SIDE: u64 = 84;
/// Actions of the game that the trainer has it play.
pub const ACTIONS: u64 = 3;

/// The network that plays and learns, and its loss.
pub fn policy() -> Vec<Stage> {
    let mut chain = Chain::default();
    write(&mut chain, "policy", ACTIONS);
    chain.then(LOSS_LAYER, Op::Loss(Loss::Huber));
    chain.into_stages()
}

/// The copy that says what the policy network should have said.
pub fn target() -> Vec<Stage> {
    let mut chain = Chain::default();
    write(&mut chain, "target", ACTIONS);
    chain.into_stages()
}

fn write(chain: &mut Chain, network: &str, actions: u64) {
    for (layer, (from, to, kernel, stride)) in (1..).zip([(FRAMES, 32, 8, 4), (32, 64, 4, 2), (64, 64, 3, 1)]) {
        chain.then(format!("{network}.conv{layer}"), Op::biased_conv(from, to, kernel, stride, 0));
        chain.then(format!("{network}.relu{layer}"), Op::Relu(Place::InPlace));
    }
    chain.then(format!("{network}.flatten"), Op::Flatten);
    chain.then(format!("{network}.fc1"), Op::Linear { from: 64 * 7 * 7, to: 512 });
    chain.then(format!("{network}.relu4"), Op::Relu(Place::InPlace));
    chain.then(format!("{network}.fc2"), Op::Linear { from: 512, to: actions });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reinforcement;

    /// 8,224 + 32,832 + 36,928 of the convolutions, 1,606,144 of fc1 and 513 for each action: for the four actions of
    /// Breakout 1,686,180 in all.
    #[test]
    fn parameters_of_the_paper() {
        let mut chain = Chain::default();
        write(&mut chain, "policy", 4);
        let parameters: u64 = chain.into_stages().iter().map(|stage| stage.op.parameters()).sum();
        assert_eq!(parameters, 1_686_180);
    }

    #[test]
    fn the_game_has_as_many_actions() {
        assert_eq!(ACTIONS, reinforcement::ACTIONS as u64);
    }
}
