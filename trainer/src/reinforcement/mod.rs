//! What reinforcement learning needs besides a network: a game, what a player sees of it, and a memory of what was played.
//! Nothing here knows libtorch.
//!
//! `catch` is the game, `player` plays it and keeps the last frames, `replay` stores what was played and draws batches of
//! it.
mod catch;

mod player;

mod replay;

pub use self::catch::ACTIONS;
pub use self::player::Player;
pub use self::replay::{PLACE_BYTES, Replay};
