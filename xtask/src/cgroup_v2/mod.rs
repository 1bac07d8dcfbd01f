//! `cargo xtask cgroup-v2`: the tracker and limited runs in control groups of version 2, on a real kernel in a virtual machine.
//!
//! Most machines for tests and containers have one version of control groups, and cannot be given the other. So Debian's
//! kernel boots with version 2 mounted alone. It sees the files of this machine, so that the programs that were built here run there
//! as they are.
//!
//! ```text
//! build -> virtual_machine: guest.sh -> files in a folder -> checks.rs -> a table
//! ```
mod checks;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;

use crate::debian::Archive;
use crate::outcome::Outcome;
use crate::programs;
use crate::virtual_machine::check::{self, Check};
use crate::virtual_machine::left::Left;
use crate::virtual_machine::{Guest, X86_64, image};
use crate::workspace::Workspace;

const GUEST: &str = include_str!("guest.sh");

/// What can be typed behind `cargo xtask cgroup-v2`.
#[derive(Debug, Args)]
pub struct CgroupV2Args {
    /// Package of the kernel [default: the one that linux-image-amd64 stands for].
    #[arg(long, value_name = "PACKAGE")]
    kernel: Option<String>,
    /// Minutes after which the virtual machine is ended.
    #[arg(long, value_name = "N", default_value_t = 30)]
    minutes: u32,
}

/// The command `cargo xtask cgroup-v2`.
///
/// # Errors
/// When the programs cannot be built, a package cannot be fetched, or the virtual machine does not run.
pub fn run(workspace: &Workspace, args: &CgroupV2Args) -> Result<Outcome> {
    let not_here = (std::env::consts::ARCH != "x86_64").then(|| "it runs programs for x86-64 only".to_owned());
    if let Some(reason) = X86_64.why_not().or(not_here) {
        println!("skipped: {reason}");
        return Ok(Outcome::Fine);
    }
    let packages = ["-p", "trainer", "-p", "viewer", "-p", "tests"];
    let names = ["trainer", "viewer", "victim-near-limit", "victim-book"];
    let bins = names.iter().flat_map(|name| ["--bin", name]);
    let built = programs::build(workspace, &packages.into_iter().chain(bins).collect::<Vec<_>>())?;
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let out = scratch.path().join("out");
    fs::create_dir(&out).context("cannot make a folder")?;
    let mut variables = format!("DATA='{}'\n", workspace.root().join("fixtures/fashion-mnist").display());
    for (variable, name) in ["TRAINER", "VIEWER", "NEAR_LIMIT", "BOOK"].into_iter().zip(names) {
        let command = built.command(workspace, name)?;
        variables.push_str(&format!("{variable}='{}'\n", Path::new(command.get_program()).display()));
    }
    fs::write(out.join("programs"), variables).context("cannot write a file")?;
    fs::write(out.join("guest.sh"), GUEST).context("cannot write a file")?;
    let debian = Archive::of_this_machine(image::NEXT);
    let usual = || debian.stands_for("linux-image-amd64");
    let kernel = args.kernel.clone().or_else(usual);
    let kernel = kernel.context("apt-cache knows no linux-image-amd64; give --kernel a package with a kernel")?;
    let image = image::make(&debian, &kernel, scratch.path())?;
    let guest = Guest { image: &image, root: Path::new("/"), out: &out, minutes: args.minutes };
    X86_64.boot(&guest, "a virtual machine with control groups of version 2")?;

    let left = Left::read(&out);
    let checks = checks::all(&left);
    println!("{}", check::table(&checks));
    println!("Linux {}, {}", left.kernel(), X86_64.qemu);
    let broken = checks.iter().any(Check::is_broken);
    Ok(if broken { Outcome::CheckFailed } else { Outcome::Fine })
}
