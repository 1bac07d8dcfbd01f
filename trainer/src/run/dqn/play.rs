//! An inference step of DQN: `--batch` games side by side, one move in each, always the action that the network holds to be
//! worth most.
use alloc_tracker::phase;
use anyhow::Result;
use tch::Tensor;

use super::seen::states;
use crate::model::Network;
use crate::reinforcement::Player;
use crate::run::autocast::Numbers;
use crate::run::error::During;
use crate::run::recording::Recording;
use crate::run::step::{Figures, Step};
use crate::settings::Settings;

/// A network that only plays.
pub(in crate::run) struct Playing {
    policy: Network,
    players: Vec<Player>,
    numbers: Numbers,
}

impl Playing {
    /// Each game has a seed of its own, which follows from the run's.
    pub(in crate::run) fn new(policy: Network, settings: &Settings) -> Playing {
        let players = (0..settings.batch).map(|game| Player::new(settings.seed.wrapping_add(game))).collect();
        Playing { policy, players, numbers: Numbers::of(settings) }
    }
}

impl Step for Playing {
    fn step(&mut self, recording: &Recording) -> Result<Figures> {
        let seen = {
            let _phase = phase!("data");
            let bytes = self.players.iter().map(Player::state).collect::<Vec<&[u8]>>().concat();
            states(&bytes, self.players.len(), self.numbers.device, recording).during("making the batch")?
        };
        // Until after the snapshot, so that it has the casts of the parameters.
        let autocast = self.numbers.autocast().during("switching autocast on")?;
        let worth = {
            let _phase = phase!("infer");
            let _no_grad = tch::no_grad_guard();
            self.policy.forward(&seen, false).during("inference")?
        };
        recording.snapshot("end of inference");
        drop(autocast);
        let _phase = phase!("act");
        let best = best_actions(&worth).during("choosing the actions")?;
        let rewards = self.players.iter_mut().zip(best).map(|(player, action)| player.play(action as usize).reward());
        Ok(vec![("reward", f64::from(rewards.sum::<f32>()))])
    }
}

/// The action of the highest worth in each row of `[N, actions]`.
pub(super) fn best_actions(worth: &Tensor) -> tch::Result<Vec<i64>> {
    Vec::try_from(worth.f_argmax(1, false)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_of_each_row() {
        let worth = Tensor::from_slice(&[0.5f32, -1.0, 0.25, 0.0, 0.0, 7.0]).view([2, 3]);
        assert_eq!(best_actions(&worth).expect("two rows"), [0, 2]);
    }
}
