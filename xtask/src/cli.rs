//! What can be typed, and which module does it.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use crate::workspace::Workspace;
use crate::{Outcome, bench, data, demo, foreign, gate, libtorch, suite};

/// The commands of the project itself.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, about)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Find or fetch libtorch and lay it out in `.libtorch/`
    Libtorch(libtorch::Wish),
    /// From a fresh machine to the first report: four runs on real images, drawn and compared, in `target/demo/`
    Demo(demo::Wish),
    /// Build everything, run every test, end in one line that says how many passed
    Test(Offline),
    /// Hold a small real run of each model, and the instructions of a malloc+free pair, against committed baselines
    Gate(gate::Wish),
    /// Measure what tracking costs, in interleaved pairs
    Bench(bench::Wish),
    /// Get what the tests take from Debian at test time: the tests of glibc's malloc, and a jemalloc
    Foreign,
    /// Get a full data set and check it
    Data(DataWish),
}

/// Shared by the commands that need libtorch.
#[derive(Args, Clone, Copy, Debug)]
pub struct Offline {
    /// Fetch nothing: use what is on this machine, or say what is missing
    #[arg(long)]
    pub offline: bool,
}

#[derive(Args, Debug)]
struct DataWish {
    /// Which set
    #[arg(value_enum)]
    set: data::Set,
    /// Where to put it [default: target/data/SET; for `slice`, fixtures/fashion-mnist]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Does what was typed.
pub fn run(cli: Cli) -> Result<Outcome> {
    let workspace = Workspace::find()?;
    match cli.command {
        Command::Libtorch(wish) => libtorch::run(&workspace, wish).map(|()| Outcome::Fine),
        Command::Demo(wish) => demo::run(&workspace, wish).map(|()| Outcome::Fine),
        Command::Test(offline) => suite::run(&workspace, offline),
        Command::Gate(wish) => gate::run(&workspace, wish),
        Command::Bench(wish) => bench::run(&workspace, &wish).map(|()| Outcome::Fine),
        Command::Foreign => foreign::fetch(&workspace).map(|()| Outcome::Fine),
        Command::Data(wish) => data::run(&workspace, wish.set, wish.out).map(|()| Outcome::Fine),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
