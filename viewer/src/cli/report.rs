//! `viewer report FILE... -o report.html`.
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::cli::args::ReportArgs;
use crate::cli::outcome::Outcome;
use crate::cli::output;
use crate::load::load_all;
use crate::view::report;

pub(super) fn run(args: &ReportArgs) -> Result<Outcome> {
    let runs = load_all(&args.files)?;
    let page = report(&runs, args.pictures.dimension.into(), args.pictures.flame_order)?;
    let inputs: Vec<&Path> = args.files.iter().map(PathBuf::as_path).collect();
    output::write(&args.output, &page, &inputs)?;
    Ok(Outcome::Fine(output::wrote(&args.output)))
}
