//! What can be typed behind `reproduce`.
use std::path::PathBuf;

use clap::{ArgGroup, Args};

/// The rows of the study, and how thoroughly they are measured.
#[derive(Clone, Debug, Args)]
#[command(group = ArgGroup::new("depth").required(true).args(["quick", "full", "pages"]))]
pub struct ReproduceArgs {
    /// Rows by their numbers, 1 to 21, or all [default: all].
    #[arg(value_name = "ROW")]
    pub rows: Vec<String>,
    /// Fewer and smaller measurements. Their pages and results have files of their own.
    #[arg(long)]
    pub quick: bool,
    /// What the seed documents measured, as far as it fits into the machine.
    #[arg(long)]
    pub full: bool,
    /// Measure nothing: make all pages anew from the results that are there.
    #[arg(long, conflicts_with_all = ["rows", "again"])]
    pub pages: bool,
    /// Measure also rows that this commit measured on this machine before.
    #[arg(long)]
    pub again: bool,
    /// Folder of the pages; the same command continues what was interrupted there.
    #[arg(long, value_name = "DIR", default_value = "docs/reproduction")]
    pub out: PathBuf,
}
