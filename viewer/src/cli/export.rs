//! `viewer export FILE --format folded|csv|massif [-o OUT]`.
use anyhow::{Result, bail};

use crate::cli::args::{ExportArgs, ExportFormat};
use crate::cli::outcome::Outcome;
use crate::cli::output;
use crate::export::{csv, massif};
use crate::load::load;
use crate::view::folded_peak;

pub(super) fn run(args: &ExportArgs) -> Result<Outcome> {
    if args.flame_order.is_some() && !matches!(args.format, ExportFormat::Folded) {
        bail!("--flame-order is for --format folded; the other formats have no frames");
    }
    let run = load(&args.file)?;
    let text = match args.format {
        ExportFormat::Folded => output::lines(folded_peak(&run.timeline, args.flame_order.unwrap_or_default())),
        ExportFormat::Csv => csv(&run.timeline),
        ExportFormat::Massif => massif(&run),
    };
    let Some(path) = &args.output else { return Ok(Outcome::Fine(text)) };
    output::write(path, &text, &[&args.file])?;
    Ok(Outcome::Fine(output::wrote(path)))
}
