//! Text for the terminal: one file for each command or part of a command.
// Each group uses only the groups above it.
mod sparkline;
mod terminal;
mod wrapped;

mod kind_column;
mod table;

mod sampled_parts;
mod sourced_table;

mod chart;
mod compare;
mod device;
mod device_snapshot;
mod growth;
mod leaks;
mod lifetimes;
mod objects;
mod owners;
mod power;
mod reconcile;
mod stacks;
mod steps;
mod threads;
mod times;
mod top_table;
mod unread;

mod summary;

pub use chart::chart;
pub use compare::compare_text;
pub use device_snapshot::device_snapshot_text;
pub use growth::growth_text;
pub use leaks::leaks_text;
pub use lifetimes::lifetimes_text;
pub use objects::objects_text;
pub use owners::owners_text;
pub use power::power_text;
pub use reconcile::reconcile_text;
pub use stacks::stacks_text;
pub use steps::steps_text;
pub use summary::summary_text;
pub use terminal::Terminal;
pub use threads::threads_text;
pub use times::times_text;
pub use top_table::top_table;
pub use unread::unread_text;
pub use wrapped::fitted;
