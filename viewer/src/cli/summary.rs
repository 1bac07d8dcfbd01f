//! `viewer summary FILE [--json]`.
use anyhow::Result;

use crate::analysis::summarise;
use crate::cli::args::FileArgs;
use crate::cli::{Outcome, output};
use crate::load::load;
use crate::view::summary_text;

pub(super) fn run(args: &FileArgs) -> Result<Outcome> {
    let run = load(&args.file)?;
    Ok(Outcome::Fine(if args.json { output::json(&summarise(&run))? } else { summary_text(&run) }))
}
