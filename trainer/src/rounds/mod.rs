//! Many runs in rounds: their order, how far they are, and the time that is left.
mod order;
mod progress;

pub(crate) use self::order::order;
pub(crate) use self::progress::{Pace, Progress};
