//! The networks, as flat lists of named stages.
//!
//! One list serves twice: `network` gives the stages weights and runs them on libtorch; `plan` walks the same stages
//! with shapes alone and computes which storages the backward pass will need, without libtorch.
mod loss;
mod objective;

pub mod op;

pub mod stage;

pub mod shape;

pub mod train_only;

mod zoo;

mod name;

pub mod plan;

pub mod passes;

pub mod list;
pub mod minimum;
pub mod needs;
pub mod peak;
pub mod report;
pub mod rules;
pub mod variation;

mod cross_entropy;
mod leaky_relu;
mod weights;

mod network;

pub mod stored;

pub use self::cross_entropy::cross_entropy;
pub use self::name::ModelName;
#[cfg(test)]
pub(crate) use self::network::GENERATOR;
pub use self::network::{Chained, Network, Parameters, Statistics, channels_last};
pub use self::objective::Objective;
pub use self::train_only::TrainOnly;
pub use self::zoo::{dcgan, dqn};
