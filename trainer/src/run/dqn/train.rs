//! A training step of DQN: a move of the game, then a step of learning from moves that were played before.
//!
//! | phase     | alive at its end, besides parameters, the replay buffer and the optimizer's state |
//! |-----------|------------------------------------------------------------------------------------|
//! | act       | nothing more: one move is played, without gradients, and stored                    |
//! | sample    | states, actions, rewards, next states, of `--batch` moves                          |
//! | target    | - rewards, next states, + what each action should have been worth                  |
//! | forward   | + maps saved for backward, worth of all actions                                    |
//! | loss      | + worth of the actions that were done, loss: snapshot "end of forward"             |
//! | backward  | - all maps, - targets, + gradients: snapshot "end of backward"                     |
//! | optimizer | - gradients: snapshot "end of step"                                                |
//!
//! The worth that an action should have had is its reward and, where the game went on, the share [`DISCOUNT`] of what the
//! best next action is worth. The target network says that: a copy of the policy network, which is made anew every
//! [`COPIED_EVERY`] steps and learns nothing by itself, so its variables are buffers.
//!
//! The policy network is asked for the best action in every step, also where a random one is then played, so that all steps
//! do the same work.
use alloc_timeline::Category;
use alloc_tracker::{layer, phase};
use anyhow::Result;
use tch::{Kind, Reduction, Tensor};

use super::play::best_actions;
use super::seen::{as_input, states};
use crate::model::Network;
use crate::model::plan::LOSS_LAYER;
use crate::optimizer::{Optimizer, Updater};
use crate::random::Random;
use crate::reinforcement::{ACTIONS, Player, Replay};
use crate::run::autocast::Numbers;
use crate::run::backward::backward;
use crate::run::error::During;
use crate::run::recording::Recording;
use crate::run::step::{Figures, Step};
use crate::settings::Settings;

/// How much a reward is worth a step before it comes.
const DISCOUNT: f64 = 0.99;
/// Steps between two copies of the policy network to the target network.
const COPIED_EVERY: u64 = 1_000;
/// The share of random actions falls from 1 to the last one, over so many steps.
const LAST_RANDOM_SHARE: f64 = 0.1;
const RANDOM_SHARE_FALLS_OVER: u64 = 10_000;
/// Errors above this count in proportion, and not by their square, as the authors clip them.
const HUBER_DELTA: f64 = 1.0;

/// A player that learns.
pub(in crate::run) struct QLearning {
    policy: Network,
    target: Network,
    updater: Updater,
    player: Player,
    replay: Replay,
    random: Random,
    steps_done: u64,
    batch: usize,
    numbers: Numbers,
}

/// Moves that were played before, as tensors.
struct Sample {
    /// `[N, 4, 84, 84]`
    states: Tensor,
    /// `[N, 1]`, i64
    actions: Tensor,
    /// `[N]`
    rewards: Tensor,
    /// `[N, 4, 84, 84]`
    next_states: Tensor,
    /// `[N]`: 1 where the game went on.
    went_on: Tensor,
}

impl QLearning {
    /// A player with a replay buffer of so many `places`. It plays random moves until there are enough to draw a batch from.
    pub(in crate::run) fn new(
        [policy, mut target]: [Network; 2],
        optimizer: Optimizer,
        places: u64,
        settings: &Settings,
        recording: &Recording,
    ) -> Result<QLearning> {
        target.freeze();
        for variable in target.store().variables().values() {
            recording.label(variable, Category::Buffer);
        }
        let updater = Updater::new(optimizer, policy.store().trainable_variables());
        let mut learning = QLearning {
            policy,
            target,
            updater: updater.during("making the optimizer")?,
            player: Player::new(settings.seed),
            replay: replay(places as usize, recording),
            random: Random::new(settings.seed),
            steps_done: 0,
            batch: settings.batch as usize,
            numbers: Numbers::of(settings),
        };
        learning.copy_to_target().during("copying the network")?;
        for _ in 0..settings.batch.max(Replay::FEWEST) {
            learning.replay.store(learning.player.play(learning.random.below(ACTIONS)));
        }
        Ok(learning)
    }

    fn copy_to_target(&mut self) -> tch::Result<()> {
        let _no_grad = tch::no_grad_guard();
        let targets = self.target.store().trainable_variables();
        for (mut target, policy) in targets.into_iter().zip(self.policy.store().trainable_variables()) {
            target.f_copy_(&policy)?;
        }
        Ok(())
    }

    /// Plays a move and stores it. Returns its reward.
    fn act(&mut self, recording: &Recording) -> tch::Result<f32> {
        let _no_grad = tch::no_grad_guard();
        let seen = states(self.player.state(), 1, self.numbers.device, recording)?;
        let best = {
            let _autocast = self.numbers.autocast()?;
            best_actions(&self.policy.forward(&seen, false)?)?[0] as usize
        };
        let is_random = self.random.share() < random_share(self.steps_done);
        let action = if is_random { self.random.below(ACTIONS) } else { best };
        let step = self.player.play(action);
        self.replay.store(step);
        Ok(step.reward())
    }

    fn sample(&mut self, recording: &Recording) -> tch::Result<Sample> {
        let drawn = self.replay.draw(self.batch, &mut self.random);
        let moved = |tensor: Tensor| tch::Result::Ok(as_input(tensor.f_to_device(self.numbers.device)?, recording));
        Ok(Sample {
            states: states(&drawn.states, self.batch, self.numbers.device, recording)?,
            actions: moved(Tensor::f_from_slice(&drawn.actions)?.f_view([-1, 1])?)?,
            rewards: moved(Tensor::f_from_slice(&drawn.rewards)?)?,
            next_states: states(&drawn.next_states, self.batch, self.numbers.device, recording)?,
            went_on: moved(Tensor::f_from_slice(&drawn.went_on)?)?,
        })
    }

    /// What each action should have been worth: `[N]`.
    fn targets(&mut self, next_states: &Tensor, rewards: &Tensor, went_on: &Tensor) -> tch::Result<Tensor> {
        let _no_grad = tch::no_grad_guard();
        let next_worth = {
            let _autocast = self.numbers.autocast()?;
            self.target.forward(next_states, false)?
        };
        let _layer = layer!(LOSS_LAYER);
        discounted(&next_worth, rewards, went_on)
    }
}

impl Step for QLearning {
    fn step(&mut self, recording: &Recording) -> Result<Figures> {
        let reward = {
            let _phase = phase!("act");
            self.act(recording).during("playing a move")?
        };
        let Sample { states, actions, rewards, next_states, went_on } = {
            let _phase = phase!("sample");
            self.sample(recording).during("drawing a batch")?
        };
        let targets = {
            let _phase = phase!("target");
            self.targets(&next_states, &rewards, &went_on).during("the target network")?
        };
        drop((rewards, next_states, went_on));
        let loss = {
            let _autocast = self.numbers.autocast().during("switching autocast on")?;
            let worth = {
                let _phase = phase!("forward");
                self.policy.forward(&states, true).during("the forward pass")?
            };
            let _phase = phase!("loss");
            let _layer = layer!(LOSS_LAYER);
            huber(worth, &actions, &targets).during("the loss")?
        };
        drop(targets);
        recording.snapshot("end of forward");
        let loss = {
            let _phase = phase!("backward");
            backward(loss).during("the backward pass")?
        };
        recording.snapshot("end of backward");
        {
            let _phase = phase!("optimizer");
            self.updater.update().during("the optimizer")?;
            self.steps_done += 1;
            if self.steps_done.is_multiple_of(COPIED_EVERY) {
                self.copy_to_target().during("copying the network")?;
            }
        }
        recording.snapshot("end of step");
        Ok(vec![("loss", loss), ("reward", f64::from(reward))])
    }
}

/// A buffer in the layer `replay`. What was played is what the network learns from: its blocks are input.
fn replay(capacity: usize, recording: &Recording) -> Replay {
    let _layer = layer!("replay");
    let mut replay = Replay::new(capacity);
    for block in replay.blocks() {
        recording.label_block(block, Category::Input);
    }
    replay
}

/// The share of random actions after so many steps.
fn random_share(steps_done: u64) -> f64 {
    let fallen = steps_done.min(RANDOM_SHARE_FALLS_OVER) as f64 / RANDOM_SHARE_FALLS_OVER as f64;
    1.0 - fallen * (1.0 - LAST_RANDOM_SHARE)
}

/// The rewards and, where the game went on, the share of the best next action's worth, which lies in `[N, actions]`.
fn discounted(next_worth: &Tensor, rewards: &Tensor, went_on: &Tensor) -> tch::Result<Tensor> {
    let mut targets = next_worth.f_amax([1], false)?;
    // What is in bf16 comes from a network; rewards are added in fp32.
    if targets.kind() != Kind::Float {
        targets = targets.f_to_kind(Kind::Float)?;
    }
    let _ = targets.f_mul_(went_on)?;
    let _ = targets.f_mul_scalar_(DISCOUNT)?;
    let _ = targets.f_add_(rewards)?;
    Ok(targets)
}

/// The mean error of the worth of the actions that were done: `worth` is `[N, actions]`, `actions` `[N, 1]`, `targets`
/// `[N]`.
fn huber(worth: Tensor, actions: &Tensor, targets: &Tensor) -> tch::Result<Tensor> {
    let done = worth.f_gather(1, actions, false)?;
    drop(worth);
    done.f_view([-1])?.f_huber_loss(targets, Reduction::Mean, HUBER_DELTA)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1 + 0.99 x 3 where the game went on, 1 where it ended.
    #[test]
    fn targets_look_one_step_ahead() {
        let next_worth = Tensor::from_slice(&[3.0f32, -1.0, 2.0, 3.0, 0.0, 0.0]).view([2, 3]);
        let targets = discounted(&next_worth, &Tensor::from_slice(&[1.0f32, 1.0]), &Tensor::from_slice(&[1.0f32, 0.0]));
        let targets = Vec::<f32>::try_from(targets.expect("computes")).expect("two");
        assert!((targets[0] - 3.97).abs() < 1e-6 && targets[1] == 1.0, "{targets:?}");
    }

    /// Errors of 0.5 and 3: the mean of 0.5 x 0.25 and 3 - 0.5.
    #[test]
    fn large_errors_count_in_proportion() {
        let worth = Tensor::from_slice(&[9.0f32, 0.5, 9.0, 3.0, 9.0, 9.0]).view([2, 3]);
        let actions = Tensor::from_slice(&[1i64, 0]).view([-1, 1]);
        let loss = huber(worth, &actions, &Tensor::from_slice(&[0.0f32, 0.0])).expect("computes");
        assert!((loss.double_value(&[]) - (0.125 + 2.5) / 2.0).abs() < 1e-6);
    }

    #[test]
    fn random_actions_become_rarer() {
        let shares = [0, 5_000, 10_000, 1_000_000].map(random_share);
        for (share, expected) in shares.into_iter().zip([1.0, 0.55, 0.1, 0.1]) {
            assert!((share - expected).abs() < 1e-12, "{shares:?}");
        }
    }
}
