//! The workloads with their functions in orders of chance.
//!
//! Where a program's functions lie decides what shares a cache line, and which branches share a place in the processor's tables. The same
//! program takes some hundredths longer or shorter in another order (T. Mytkowicz et al., "Producing wrong data without doing
//! anything obviously wrong!", ASPLOS 2009), and every change to a program is another order. So each round of a row that is judged by
//! hundredths runs programs of an order of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::context::Bench;
use crate::child;
use crate::programs::{self, without_allocator_settings};
use crate::progress::Progress;
use crate::workspace::Workspace;

/// The programs of some rows, each in so many orders.
pub struct Layouts {
    folder: TempDir,
    orders: BTreeMap<String, Vec<PathBuf>>,
}

impl Layouts {
    /// Links each of these workloads in `count` orders. Where there is no linker that does, each is in the order that it was built in.
    pub fn link(bench: &Bench<'_>, names: &[&str], count: usize) -> Result<Layouts> {
        let mut layouts =
            Layouts { folder: tempfile::tempdir().context("cannot make a temporary folder")?, orders: BTreeMap::new() };
        let Some(linker) = linker(bench.workspace) else {
            eprintln!("bench: functions are in one order alone: this Rust comes without the linker rust-lld");
            return Ok(layouts);
        };
        let progress = Progress::parts(format!("bench: linking {}", names.join(", ")), (names.len() * count) as u64);
        for name in names {
            for order in 1..=count {
                let linked = layouts.folder.path().join(format!("{name}-{order}"));
                let mut cargo = bench.workspace.cargo();
                cargo
                    .args(["rustc", "--release", "--package", "tests", "--bin", name, "--"])
                    .args(flags(&linker, order));
                child::run_to_end(&mut cargo, &progress)?.expect_success("cargo rustc")?;
                let built = bench.workloads.command(bench.workspace, name)?;
                fs::copy(built.get_program(), &linked).with_context(|| format!("cannot copy {name}"))?;
                layouts.orders.entry((*name).to_owned()).or_default().push(linked);
                progress.add(1);
            }
        }
        progress.done("");
        // What was linked last stands where the other parts look for the programs.
        programs::build(bench.workspace, &programs::WORKLOADS)?;
        Ok(layouts)
    }

    /// A command for a program in the order of a round.
    pub fn command(&self, bench: &Bench<'_>, name: &str, round: usize) -> Result<Command> {
        let Some(orders) = self.orders.get(name) else { return bench.workloads.command(bench.workspace, name) };
        let mut command = without_allocator_settings(Command::new(&orders[round % orders.len()]));
        command.current_dir(bench.workspace.root());
        Ok(command)
    }
}

/// The folder of Rust's own linker by the name that C compilers look for.
fn linker(workspace: &Workspace) -> Option<PathBuf> {
    let says = |arguments: &[&str]| {
        let said = Command::new("rustc").args(arguments).current_dir(workspace.root()).output().ok()?;
        String::from_utf8(said.stdout).ok()
    };
    let root = says(&["--print", "sysroot"])?;
    let host = says(&["--version", "--verbose"])?.lines().find_map(|line| line.strip_prefix("host: "))?.to_owned();
    let folder = Path::new(root.trim()).join("lib/rustlib").join(host).join("bin/gcc-ld");
    folder.join("ld.lld").is_file().then_some(folder)
}

/// What the compiler is told for an order, which is a number from 1 on.
fn flags(linker: &Path, order: usize) -> Vec<String> {
    let linker = format!("-Clink-arg=-B{}", linker.display());
    let order = format!("-Clink-arg=-Wl,--shuffle-sections=.text*={order}");
    vec![linker, "-Clink-arg=-fuse-ld=lld".to_owned(), order, "-Cstrip=symbols".to_owned()]
}
