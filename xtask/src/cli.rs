//! What can be typed, and which module does it.

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::outcome::Outcome;
use crate::workspace::Workspace;
use crate::{aarch64, bench, cgroup_v2, data, demo, foreign, gate, libtorch, oracle, python, reproduce, suite, wheel};

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
    Libtorch(libtorch::LibtorchArgs),
    /// Make a Python with torch and what else the tests import, once for all checkouts (fetches 3 GB); what stands in the way
    /// is said in a sentence
    Python,
    /// From a fresh machine to the first report: four runs on real images, drawn and compared, in `target/demo/`
    Demo(demo::DemoArgs),
    /// Measure what the seed documents measured, and write a page for each experiment in `docs/reproduction/`
    Reproduce(reproduce::ReproduceArgs),
    /// Build everything, run every test, end in one line that says how many passed
    Test(suite::TestArgs),
    /// Build the recorder and the Python package as one file that pip installs
    Wheel(wheel::WheelArgs),
    /// Hold a small real run of each model, and the instructions of a malloc+free pair, against committed baselines
    Gate(gate::GateArgs),
    /// Measure what tracking costs, in interleaved pairs
    Bench(bench::BenchArgs),
    /// Get what the tests take from Debian at test time: the tests of glibc's malloc, and a jemalloc
    Foreign,
    /// Run the tracker's tests and record whole programs on an emulated machine for aarch64, with pages of 4 and of 16 KiB
    Aarch64(aarch64::Aarch64Args),
    /// Run the tracker and limited runs in control groups of version 2, in a virtual machine
    CgroupV2(cgroup_v2::CgroupV2Args),
    /// Get a full data set and check it
    Data(data::DataArgs),
    /// Ask another project's program what our tests ask ours, and write its answers as a fixture
    Oracle(oracle::OracleArgs),
}

/// Does what was typed.
pub fn run(cli: Cli) -> Result<Outcome> {
    let workspace = Workspace::find()?;
    match cli.command {
        Command::Libtorch(args) => libtorch::run(&workspace, args).map(|()| Outcome::Fine),
        Command::Python => python::run(&workspace).map(|()| Outcome::Fine),
        Command::Demo(args) => demo::run(&workspace, args).map(|()| Outcome::Fine),
        Command::Reproduce(args) => reproduce::run(&workspace, &args).map(|()| Outcome::Fine),
        Command::Test(args) => suite::run(&workspace, args),
        Command::Wheel(args) => wheel::run(&workspace, args).map(|()| Outcome::Fine),
        Command::Gate(args) => gate::run(&workspace, args),
        Command::Bench(args) => bench::run(&workspace, &args).map(|()| Outcome::Fine),
        Command::Aarch64(args) => aarch64::run(&workspace, &args),
        Command::CgroupV2(args) => cgroup_v2::run(&workspace, &args),
        Command::Foreign => foreign::fetch(&workspace).map(|()| Outcome::Fine),
        Command::Data(args) => data::run(&workspace, args).map(|()| Outcome::Fine),
        Command::Oracle(args) => oracle::run(&workspace, args).map(|()| Outcome::Fine),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;

    #[test]
    fn what_stands_behind_reproduce_is_the_trainers() {
        for words in [&["18", "--quick"][..], &["--quick", "18"], &["all", "--full", "--again"]] {
            let typed = Cli::try_parse_from([&["xtask", "reproduce"], words].concat());
            let Ok(Cli { command: Command::Reproduce(_) }) = typed else { panic!("{words:?}: {typed:?}") };
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
