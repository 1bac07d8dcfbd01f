//! The networks, as flat lists of named stages.
//!
//! One list serves twice: `network` gives the stages weights and runs them on libtorch; `plan` walks the same stages
//! with shapes alone and computes which storages the backward pass will need, without libtorch.
pub mod stage;

mod mobilenet_v1;
mod resnet18;

mod name;

pub mod shape;

pub mod plan;

pub mod minimum;
pub mod report;

mod clock;
mod weights;

mod network;

mod chained;

pub use self::chained::forward as forward_chained;
pub use self::name::ModelName;
pub use self::network::{Forward, Network};
