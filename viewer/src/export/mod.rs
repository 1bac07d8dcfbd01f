//! A timeline in the formats of other tools. Each format is a function from a run to text. Where another tool can read the
//! format, a test asks that tool.
mod csv;
mod massif;

pub use csv::csv;
pub use massif::massif;
