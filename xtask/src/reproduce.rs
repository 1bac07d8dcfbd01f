//! `cargo xtask reproduce`: builds what the study needs, and has the trainer measure rows of it and write their pages.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;

use anyhow::{Error, Result};
use clap::Args;

use crate::data;
use crate::libtorch::{self, LibtorchArgs};
use crate::programs;
use crate::workspace::Workspace;

/// What `cargo xtask reproduce` is asked to do.
#[derive(Args, Clone, Debug)]
pub struct ReproduceArgs {
    /// What `trainer reproduce` is given: rows by their numbers, or all; --quick or --full
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "ROW... --quick|--full")]
    arguments: Vec<OsString>,
}

/// The rows that learn from sets of images that are not part of the repository.
const LEARN: [&str; 4] = ["6", "7", "8", "16"];

impl ReproduceArgs {
    fn has(&self, word: &str) -> bool {
        self.arguments.iter().any(|argument| argument == word)
    }

    /// Whether rows are asked for that need images which may have to be fetched. Without a row all are meant.
    fn needs_images(&self) -> bool {
        let is_row = |argument: &OsString| argument.to_str().is_some_and(|word| word.parse::<u8>().is_ok());
        let all = self.has("all") || !self.arguments.iter().any(is_row);
        !self.has("--pages") && (all || LEARN.iter().any(|row| self.has(row)))
    }
}

/// The command. It becomes the trainer, which ends, or goes on, by its own rules when Ctrl-C is typed.
pub fn run(workspace: &Workspace, args: &ReproduceArgs) -> Result<()> {
    libtorch::ensure(workspace, LibtorchArgs { offline: false, again: false })?;
    let programs = programs::build(workspace, &["-p", "trainer", "-p", "viewer"])?;
    if args.needs_images() {
        data::bring_for_study(workspace, args.has("--full"));
    }
    let mut trainer = programs.command(workspace, "trainer")?;
    let problem = trainer.arg("reproduce").args(&args.arguments).exec();
    Err(Error::new(problem).context("the trainer cannot be started"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_fetched_for_the_rows_that_learn() {
        let needs =
            |words: &[&str]| ReproduceArgs { arguments: words.iter().map(OsString::from).collect() }.needs_images();
        assert!(needs(&["all", "--quick"]) && needs(&["--full"]) && needs(&["9", "16", "--quick"]));
        assert!(!needs(&["9", "--quick"]) && !needs(&["--pages"]));
    }
}
