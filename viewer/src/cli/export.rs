//! `viewer export FILE --format folded|csv|massif [-o OUT]`.
use anyhow::Result;

use crate::cli::args::{ExportArgs, Format};
use crate::cli::{Outcome, output};
use crate::export::{csv, massif};
use crate::load::load;
use crate::view::folded;

pub(super) fn run(args: &ExportArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    let text = match args.format {
        Format::Folded => folded(&run.timeline, args.flame_order).into_iter().map(|line| line + "\n").collect(),
        Format::Csv => csv(&run.timeline),
        Format::Massif => massif(&run),
    };
    let Some(path) = &args.output else { return Ok(Outcome::Fine(text)) };
    output::write(path, &text, &[&args.file])?;
    Ok(Outcome::Fine(format!("wrote {}\n", path.display())))
}
