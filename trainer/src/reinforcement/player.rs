//! A player of the game: what it sees is the last four frames of the running episode, as the DQN's authors feed them to
//! their network, because one frame does not show where a ball is moving.
use super::catch::{Catch, Outcome, PIXELS};

/// Frames that are seen at once.
pub(super) const FRAMES: usize = 4;
/// Bytes of what is seen at once: `[4, 84, 84]`, a byte a pixel, the oldest frame first.
pub(super) const STATE_BYTES: usize = FRAMES * PIXELS;

/// A step that was played.
#[derive(Clone, Copy, Debug)]
pub struct Move<'a> {
    /// The newest frame that was seen before the action.
    pub(super) frame: &'a [u8],
    /// What was done.
    pub(super) action: usize,
    /// What it brought.
    pub(super) outcome: Outcome,
}

impl Move<'_> {
    /// The reward of the step.
    pub fn reward(self) -> f32 {
        self.outcome.reward
    }
}

/// A game and the frames that are seen of it.
#[derive(Debug)]
pub struct Player {
    game: Catch,
    /// The oldest frame first. Before the start of the episode all is black.
    seen: Vec<u8>,
    /// The newest frame before the last move.
    before: Vec<u8>,
}

impl Player {
    /// A player of a game of its own at the start of an episode.
    pub fn new(seed: u64) -> Player {
        let mut player = Player { game: Catch::new(seed), seen: vec![0; STATE_BYTES], before: vec![0; PIXELS] };
        player.look();
        player
    }

    /// What is seen, `[4, 84, 84]`, a byte a pixel.
    pub fn state(&self) -> &[u8] {
        &self.seen
    }

    /// Does `action`, of which there are [`ACTIONS`](super::ACTIONS), and looks.
    pub fn play(&mut self, action: usize) -> Move<'_> {
        self.before.copy_from_slice(&self.seen[STATE_BYTES - PIXELS..]);
        let outcome = self.game.step(action);
        if outcome.ended {
            self.seen.fill(0);
        }
        self.look();
        Move { frame: &self.before, action, outcome }
    }

    /// The frames move on by one, and the board as it is becomes the newest.
    fn look(&mut self) {
        self.seen.copy_within(PIXELS.., 0);
        if let Some(newest) = self.seen.last_chunk_mut::<PIXELS>() {
            self.game.draw(newest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_black(frame: &[u8]) -> bool {
        frame.iter().all(|&pixel| pixel == 0)
    }

    /// At the start one frame is there and three are black; after three steps none is; the first frame of the next episode
    /// stands alone again.
    #[test]
    fn an_episode_sees_nothing_of_the_one_before() {
        let black = |player: &Player| player.state().chunks(PIXELS).map(is_black).collect::<Vec<_>>();
        let mut player = Player::new(1);
        assert_eq!(black(&player), [true, true, true, false]);
        for _ in 0..3 {
            player.play(1);
        }
        assert_eq!(black(&player), [false; 4]);
        for _ in 3..20 {
            player.play(1);
        }
        assert_eq!(black(&player), [true, true, true, false], "20 steps are an episode");
    }

    /// What a move tells is what was seen before it.
    #[test]
    fn a_move_tells_the_frame_before_it() {
        let mut player = Player::new(1);
        let newest = player.state()[3 * PIXELS..].to_vec();
        let step = player.play(2);
        assert_eq!((step.frame, step.action, step.reward()), (&newest[..], 2, 0.0));
        assert_eq!(player.state()[2 * PIXELS..3 * PIXELS], newest, "it is the last but one now");
    }
}
