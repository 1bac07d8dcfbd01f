//! What a step of DCGAN does, in training and in inference.
mod networks;

mod generate;
mod train;

pub(super) use self::generate::Generation;
pub(super) use self::networks::{discriminator, generator};
pub(super) use self::train::Adversaries;
