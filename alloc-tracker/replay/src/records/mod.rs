//! From the parts of a replay to the file's types.
pub mod figures;
pub mod rows;
pub mod session_times;
pub mod totals;

pub mod analysis;
pub mod devices;
pub mod unread;
