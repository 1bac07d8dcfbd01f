//! The walk through a step of DQN: a move is played, a batch is drawn, the target network is asked, and then the policy
//! network learns, in the order of `run/dqn/train.rs`.
use alloc_timeline::Category;

use super::layers::{Layers, computed};
use super::live::{Live, Phase};
use super::network::{Gradients, Graph, Walked};
use crate::model::dqn;
use crate::model::plan::{F32, I64};
use crate::model::shape::{Misfit, Shape};
use crate::optimizer::Optimizer;

const ACT: Phase = Phase("act");
const SAMPLE: Phase = Phase("sample");
const TARGET: Phase = Phase("target");
/// The layer of the replay buffer.
const REPLAY: &str = "replay";

/// All that lives in one step that is not the first, and the layers. The replay buffer has `replay_bytes`.
pub(super) fn step(batch: u64, optimizer: Optimizer, replay_bytes: u64) -> Result<(Live, Layers), Misfit> {
    let (policy, target) = (dqn::policy(), dqn::target());
    let mut layers = Layers::of(&[&policy]);
    let replay = layers.add(REPLAY);
    for stage in computed(&target) {
        layers.add(&stage.name);
    }
    let seen = Shape::Maps { channels: dqn::FRAMES, side: dqn::SIDE };
    let acting = Walked::new(&policy, 1, seen, 0)?;
    let policy = Walked::new(&policy, batch, seen, 0)?;
    let target = Walked::new(&target, batch, seen, replay + 1)?;

    let mut live = Live::default();
    policy.allocate(&mut live, optimizer, Phase::OPTIMIZER);
    target.allocate_frozen(&mut live);
    live.allocate(Phase::INIT, replay, Category::Input, replay_bytes);

    let state = live.allocate(ACT, layers.none, Category::Input, acting.input_bytes());
    let played = acting.forward(&mut live, ACT, state, Graph::None);
    live.release(played.output);
    live.release(state);

    let drawn = |live: &mut Live, bytes| live.allocate(SAMPLE, layers.none, Category::Input, bytes);
    let states = drawn(&mut live, policy.input_bytes());
    // Actions; like the states they stay to the step's end.
    drawn(&mut live, batch * I64);
    // Rewards, and whether the game went on.
    let outcomes = drawn(&mut live, 2 * batch * F32);
    let next_states = drawn(&mut live, target.input_bytes());

    let next_worth = target.forward(&mut live, TARGET, next_states, Graph::None);
    let targets = live.allocate(TARGET, layers.loss, Category::Activation, batch * F32);
    live.look(TARGET, layers.loss);
    live.release(next_worth.output);
    live.release(outcomes);
    live.release(next_states);

    let forward = policy.forward(&mut live, Phase::FORWARD, states, Graph::Made);
    let loss = policy.loss(&mut live, Phase::LOSS, &layers, &forward, &[targets]);
    let mut gradients = Gradients::default();
    let (reached, ends) = policy.backward_of_loss(&mut live, Phase::BACKWARD, &layers, &loss);
    policy.backward(&mut live, Phase::BACKWARD, &forward, reached, &mut gradients, false);
    ends.into_iter().for_each(|block| live.release(block));
    policy.update(&mut live, Phase::OPTIMIZER, optimizer, &mut gradients);
    Ok((live, layers))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The replay buffer is there at every instant. In the first one, before a move is played, there are besides 1,685,667
    /// parameters, as many of the target network and as many momenta, a state of 4 x 84 x 84, and the first map, 32 x 20 x 20.
    #[test]
    fn a_replay_buffer_and_two_networks() {
        let (live, _) = step(4, Optimizer::default(), 1_000_000).expect("its own size");
        let first = live.instants()[0];
        assert_eq!(first.bytes, 1_000_000 + 3 * 1_685_667 * 4 + (4 * 84 * 84 + 32 * 20 * 20) * 4);
        assert_eq!(first.phase, ACT);
        assert!(live.instants().iter().all(|instant| instant.bytes > 1_000_000));
    }
}
