//! The replay buffer: the last moves that were played, from which batches are drawn at random.
//!
//! Each frame is stored once, and not once for each of the four states that show it. A state is put together when it is
//! drawn:
//!
//! ```text
//! place     0    1    2    3    4    5
//! frame     f0   f1   f2   f3   g0   g1        the episode ended with the move of place 3
//! state 3   f0   f1   f2   f3
//! state 5   --   --             g0   g1        what lies before the episode's start is black
//! ```
//!
//! The buffer is allocated whole at its start, [`PLACE_BYTES`] for each place, and stays as it is. When it is full, a new
//! move takes the place of the oldest one.
use super::catch::PIXELS;
use super::player::{FRAMES, Move, STATE_BYTES};
use crate::random::Random;

/// Bytes of one place: a frame, an action, a reward in f32, and whether the episode ended.
pub const PLACE_BYTES: u64 = (PIXELS + 1 + size_of::<f32>() + 1) as u64;

/// The last moves.
#[derive(Debug)]
pub struct Replay {
    /// `[capacity, 84, 84]`
    frames: Vec<u8>,
    actions: Vec<u8>,
    rewards: Vec<f32>,
    ended: Vec<bool>,
    /// How many moves were ever stored; move n lies in place n % capacity.
    stored: usize,
}

/// A batch of moves, drawn at random.
#[derive(Debug, Default, PartialEq)]
pub struct Transitions {
    /// What was seen before each move: `[N, 4, 84, 84]`, a byte a pixel.
    pub states: Vec<u8>,
    /// What was done.
    pub actions: Vec<i64>,
    /// What it brought.
    pub rewards: Vec<f32>,
    /// What was seen after it, `[N, 4, 84, 84]`. Of a move that ended its episode it is the start of the next one.
    pub next_states: Vec<u8>,
    /// 1 where the episode went on, 0 where the move ended it.
    pub went_on: Vec<f32>,
}

impl Replay {
    /// The fewest places from which a batch can be drawn: a state of four frames, and the frame after it.
    pub const FEWEST: u64 = FRAMES as u64 + 1;
    /// The places where none are asked for.
    pub const PLACES: u64 = 10_000;

    /// A buffer of so many places, all of them empty; at least [`Replay::FEWEST`].
    pub fn new(capacity: usize) -> Replay {
        debug_assert!(capacity as u64 >= Replay::FEWEST);
        Replay {
            frames: vec![0; capacity * PIXELS],
            actions: vec![0; capacity],
            rewards: vec![0.0; capacity],
            ended: vec![false; capacity],
            stored: 0,
        }
    }

    /// Its blocks of memory, the frames' first.
    pub fn blocks(&mut self) -> [*mut u8; 4] {
        [
            self.frames.as_mut_ptr(),
            self.actions.as_mut_ptr(),
            self.rewards.as_mut_ptr().cast(),
            self.ended.as_mut_ptr().cast(),
        ]
    }

    /// Stores a move.
    pub fn store(&mut self, step: Move<'_>) {
        let place = self.place(self.stored);
        self.frames[place * PIXELS..][..PIXELS].copy_from_slice(step.frame);
        self.actions[place] = step.action as u8;
        self.rewards[place] = step.outcome.reward;
        self.ended[place] = step.outcome.ended;
        self.stored += 1;
    }

    /// Draws `count` moves at random, one of them perhaps twice. None can be drawn before two are stored.
    pub fn draw(&self, count: usize, random: &mut Random) -> Transitions {
        let first = self.first_whole();
        // The last move is left out: what was seen after it is not stored yet.
        let choices = self.stored.saturating_sub(first + 1);
        let mut drawn = Transitions::default();
        drawn.states.reserve_exact(count * STATE_BYTES);
        drawn.next_states.reserve_exact(count * STATE_BYTES);
        for _ in 0..count {
            let number = first + random.below(choices);
            let place = self.place(number);
            self.push_state(number, &mut drawn.states);
            self.push_state(number + 1, &mut drawn.next_states);
            drawn.actions.push(i64::from(self.actions[place]));
            drawn.rewards.push(self.rewards[place]);
            drawn.went_on.push(if self.ended[place] { 0.0 } else { 1.0 });
        }
        drawn
    }

    fn place(&self, number: usize) -> usize {
        number % self.ended.len()
    }

    /// The first move all of whose frames are there: once moves were overwritten, the oldest ones lack theirs.
    fn first_whole(&self) -> usize {
        match self.stored.checked_sub(self.ended.len()) {
            None | Some(0) => 0,
            Some(overwritten) => overwritten + FRAMES - 1,
        }
    }

    /// Adds what was seen before move `number`.
    fn push_state(&self, number: usize, states: &mut Vec<u8>) {
        // Frames of the same episode, from this one backwards.
        let before = (1..FRAMES).take_while(|&back| back <= number && !self.ended[self.place(number - back)]).count();
        states.resize(states.len() + (FRAMES - 1 - before) * PIXELS, 0);
        for number in number - before..=number {
            states.extend_from_slice(&self.frames[self.place(number) * PIXELS..][..PIXELS]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::player::Player;
    use super::*;

    /// What was seen before a move, what was done, and what was seen after it.
    type Seen = (Vec<u8>, usize, Vec<u8>);

    /// A buffer into which `moves` moves of one game went, and for each what was seen before and after it.
    fn played(capacity: usize, moves: usize) -> (Replay, Vec<Seen>) {
        let (mut replay, mut player) = (Replay::new(capacity), Player::new(5));
        let mut seen = Vec::new();
        for number in 0..moves {
            let action = number % 3;
            let state = player.state().to_vec();
            replay.store(player.play(action));
            seen.push((state, action, player.state().to_vec()));
        }
        (replay, seen)
    }

    /// Two episodes of 20 moves and a part of a third. Whatever is drawn is what the player saw, did and saw then; both
    /// ends of the buffer and every episode's start are among 400 draws.
    #[test]
    fn what_is_drawn_was_played() {
        for (capacity, moves, first, last) in [(100, 45, 0, 43), (30, 45, 18, 43), (45, 45, 0, 43), (5, 8, 6, 6)] {
            let (replay, seen) = played(capacity, moves);
            let drawn = replay.draw(400, &mut Random::new(1));
            let mut numbers = Vec::new();
            for place in 0..400 {
                let state = &drawn.states[place * STATE_BYTES..][..STATE_BYTES];
                let action = drawn.actions[place] as usize;
                let next = &drawn.next_states[place * STATE_BYTES..][..STATE_BYTES];
                let is_it = |(before, done, after): &Seen| (&before[..], *done, &after[..]) == (state, action, next);
                let number = seen.iter().position(is_it).expect("it was played");
                assert_eq!(drawn.went_on[place], if number % 20 == 19 { 0.0 } else { 1.0 }, "20 moves are an episode");
                assert_eq!(drawn.rewards[place] != 0.0, number % 20 == 19);
                numbers.push(number);
            }
            let range = (numbers.iter().min().copied(), numbers.iter().max().copied());
            assert_eq!(range, (Some(first), Some(last)), "{capacity} places, {moves} moves");
        }
    }

    /// 84 x 84 pixels, an action, a reward of 4 bytes, and a flag: 7,062 bytes a place.
    #[test]
    fn bytes_of_the_buffer() {
        let replay = Replay::new(1000);
        let bytes = replay.frames.capacity()
            + replay.actions.capacity()
            + replay.rewards.capacity() * size_of::<f32>()
            + replay.ended.capacity();
        assert_eq!((bytes as u64, PLACE_BYTES), (7_062_000, 7_062));
    }

    #[test]
    fn the_seed_decides_what_is_drawn() {
        let (replay, _) = played(100, 50);
        let drawn = |seed| replay.draw(16, &mut Random::new(seed));
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }
}
