//! What updates the parameters: what each optimizer is told, how much it keeps, and one that runs.
mod settings;

mod adagrad;

mod updater;

pub use self::settings::{Optimizer, OptimizerName};
pub use self::updater::Updater;
