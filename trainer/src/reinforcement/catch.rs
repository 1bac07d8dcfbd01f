//! The game of catch: a ball falls, a paddle below it moves left or right, or stays. It is drawn as a grey image of 84 x 84,
//! the size that the DQN's authors cut their games to, so it needs no data and no emulator.
//!
//! ```text
//!  21 x 21 cells of 4 x 4 pixels      The ball starts in row 0 and a random column, the paddle in the middle.
//!  . . . o . . . .                    In each step the paddle moves by a cell or stays, then the ball falls by one.
//!  . . . . . . . .                    In the last row, after 20 steps, the episode ends: the reward is 1 when the ball is
//!  . . = = = . . .                    over one of the paddle's three cells, else -1. All other rewards are 0.
//! ```
use crate::random::Random;

/// Height and width of the image, in pixels.
pub(super) const SIDE: usize = 84;
/// Pixels of an image.
pub(super) const PIXELS: usize = SIDE * SIDE;
/// What can be done: left, stay, right.
pub const ACTIONS: usize = 3;
/// Height and width of the board, in cells.
const CELLS: usize = 21;
/// Height and width of a cell, in pixels.
const CELL: usize = SIDE / CELLS;
/// Cells of the paddle on each side of its middle.
const REACH: usize = 1;
/// The grey of ball and paddle; the board is black.
const BRIGHT: u8 = 255;

/// A game. It goes on for ever: an episode follows the other.
#[derive(Clone, Debug)]
pub(super) struct Catch {
    random: Random,
    ball: Ball,
    /// Column of the paddle's middle.
    paddle: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ball {
    row: usize,
    column: usize,
}

/// What a step of the game brought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outcome {
    /// The reward of the step.
    pub(super) reward: f32,
    /// Whether the step ended the episode; the board shows the next one's start then.
    pub(super) ended: bool,
}

impl Catch {
    /// A game at the start of an episode; the columns in which balls start follow from the seed.
    pub(super) fn new(seed: u64) -> Catch {
        let mut catch = Catch { random: Random::new(seed), ball: Ball { row: 0, column: 0 }, paddle: 0 };
        catch.begin();
        catch
    }

    fn begin(&mut self) {
        self.ball = Ball { row: 0, column: self.random.below(CELLS) };
        self.paddle = CELLS / 2;
    }

    /// Does action 0 (left), 1 (stay) or 2 (right); a paddle at the edge stays there.
    pub(super) fn step(&mut self, action: usize) -> Outcome {
        debug_assert!(action < ACTIONS, "actions are 0, 1 and 2");
        let middle = (self.paddle + action).saturating_sub(1);
        self.paddle = middle.clamp(REACH, CELLS - 1 - REACH);
        self.ball.row += 1;
        if self.ball.row < CELLS - 1 {
            return Outcome { reward: 0.0, ended: false };
        }
        let caught = self.ball.column.abs_diff(self.paddle) <= REACH;
        self.begin();
        Outcome { reward: if caught { 1.0 } else { -1.0 }, ended: true }
    }

    /// Draws the board, row by row from the top.
    pub(super) fn draw(&self, image: &mut [u8; PIXELS]) {
        image.fill(0);
        let mut fill = |row: usize, columns: std::ops::RangeInclusive<usize>| {
            let pixels = columns.start() * CELL..(columns.end() + 1) * CELL;
            for line in row * CELL..(row + 1) * CELL {
                image[line * SIDE..][pixels.clone()].fill(BRIGHT);
            }
        };
        fill(self.ball.row, self.ball.column..=self.ball.column);
        fill(CELLS - 1, self.paddle - REACH..=self.paddle + REACH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEFT: usize = 0;
    const STAY: usize = 1;
    const RIGHT: usize = 2;

    fn at(column: usize) -> Catch {
        Catch { random: Random::new(1), ball: Ball { row: 0, column }, paddle: 10 }
    }

    /// Plays one action to the end of the episode.
    fn played(mut game: Catch, action: usize) -> Vec<Outcome> {
        let mut outcomes = Vec::new();
        while outcomes.last().is_none_or(|outcome: &Outcome| !outcome.ended) {
            outcomes.push(game.step(action));
        }
        outcomes
    }

    /// The ball falls from row 0 to row 20 in 20 steps; the paddle's middle stays in column 10 and covers 9 to 11.
    #[test]
    fn who_stays_catches_what_falls_on_three_columns() {
        for column in 0..CELLS {
            let outcomes = played(at(column), STAY);
            assert_eq!(outcomes.len(), 20, "column {column}");
            assert!(outcomes[..19].iter().all(|outcome| *outcome == Outcome { reward: 0.0, ended: false }));
            let reward = if (9..=11).contains(&column) { 1.0 } else { -1.0 };
            assert_eq!(outcomes[19], Outcome { reward, ended: true }, "column {column}");
        }
    }

    /// The paddle is three cells wide, so its middle goes no further than columns 1 and 19.
    #[test]
    fn the_paddle_stays_on_the_board() {
        assert_eq!(played(at(0), LEFT)[19].reward, 1.0, "column 1 covers 0 to 2");
        assert_eq!(played(at(3), LEFT)[19].reward, -1.0);
        assert_eq!(played(at(20), RIGHT)[19].reward, 1.0, "column 19 covers 18 to 20");
        assert_eq!(played(at(17), RIGHT)[19].reward, -1.0);
    }

    /// A ball in row 1, column 2 lies in pixel rows 4 to 7 and columns 8 to 11; the paddle in rows 80 to 83 and, from column
    /// 9 + 1 on after a step to the right, in columns 40 to 51.
    #[test]
    fn what_is_drawn() {
        let mut game = at(2);
        game.step(RIGHT);
        let mut image = [7; PIXELS];
        game.draw(&mut image);
        let mut expected = [0; PIXELS];
        for row in 4..8 {
            expected[row * 84 + 8..row * 84 + 12].fill(255);
        }
        for row in 80..84 {
            expected[row * 84 + 40..row * 84 + 52].fill(255);
        }
        assert!(image == expected);
    }

    #[test]
    fn the_seed_decides_where_balls_start() {
        let columns = |seed| {
            let mut game = Catch::new(seed);
            let mut columns = Vec::new();
            for _ in 0..8 {
                columns.push(game.ball.column);
                while !game.step(STAY).ended {}
            }
            columns
        };
        assert_eq!(columns(1), columns(1));
        assert_ne!(columns(1), columns(2));
        assert!(columns(3).iter().all(|&column| column < CELLS));
    }
}
