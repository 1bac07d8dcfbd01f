//! `cargo xtask cgroup-v2`: the tracker and limited runs in control groups of version 2, on a real kernel in a virtual machine.
//!
//! Most machines for tests and containers have one version of control groups, and cannot be given the other. So Debian's
//! kernel boots under qemu, in software if need be, with version 2 mounted alone. It sees the files of this machine,
//! read-only, so that the programs that were built here run there as they are.
//!
//! ```text
//! build -> image.rs (kernel and first files) -> qemu: init.sh, guest.sh -> files in a folder -> checks.rs -> a table
//! ```
mod checks;
mod image;

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use clap::Args;
use comfy_table::Table;
use comfy_table::presets::ASCII_MARKDOWN;

use self::checks::{Check, Left};
use crate::child::{OutputLine, stream_lines};
use crate::outcome::Outcome;
use crate::prerequisite;
use crate::programs;
use crate::progress::Progress;
use crate::workspace::Workspace;

const QEMU: &str = "qemu-system-x86_64";
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
    if let Some(reason) = why_not() {
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
    let image = image::make(args.kernel.as_deref(), scratch.path())?;
    boot(&image, &out, args.minutes)?;

    let left = Left::read(&out);
    let checks = checks::all(&left);
    println!("{}", table(&checks));
    println!("Linux {}, {QEMU}", left.kernel());
    let broken = checks.iter().any(|check| check.said.is_err());
    Ok(if broken { Outcome::CheckFailed } else { Outcome::Fine })
}

/// Why the virtual machine cannot run here.
fn why_not() -> Option<String> {
    for (tool, package) in [(QEMU, "qemu-system-x86"), ("timeout", "coreutils"), ("xz", "xz-utils")] {
        if !prerequisite::succeeds(Command::new(tool).arg("--version")) {
            return Some(format!("no {tool} found; on Debian or Ubuntu: sudo apt-get install {package}"));
        }
    }
    (std::env::consts::ARCH != "x86_64").then(|| "the virtual machine runs programs for x86-64 only".to_owned())
}

/// Runs the virtual machine to its end; what it says is shown as it comes.
fn boot(image: &image::Image, out: &Path, minutes: u32) -> Result<()> {
    let progress = Progress::open("a virtual machine with control groups of version 2");
    let mut qemu = Command::new("timeout");
    qemu.arg(format!("{minutes}m")).args([
        QEMU,
        "-accel",
        "tcg,thread=multi",
        "-cpu",
        "max",
        "-m",
        "3072",
        "-smp",
        "2",
    ]);
    qemu.args(["-display", "none", "-nodefaults", "-serial", "stdio", "-no-reboot", "-append"]);
    qemu.arg("console=ttyS0 quiet panic=-1").arg("-kernel").arg(&image.kernel).arg("-initrd").arg(&image.files);
    // Without it, libtorch waits for the kernel to have collected enough chance.
    qemu.args(["-device", "virtio-rng-pci"]);
    let shared = |path: &Path, tag: &str| format!("local,path={},mount_tag={tag},security_model=none", path.display());
    qemu.arg("-virtfs").arg(format!("{},readonly=on,multidevs=remap", shared(Path::new("/"), "host")));
    qemu.arg("-virtfs").arg(shared(out, "out"));
    let mut last = Vec::new();
    let ended = stream_lines(&mut qemu, |line| {
        let (OutputLine::Stdout(line) | OutputLine::Stderr(line)) = line;
        progress.note(&line);
        last.push(line);
    });
    let over = last.iter().any(|line| line.contains("guest: over"));
    let tail = last[last.len().saturating_sub(20)..].join("\n    | ");
    anyhow::ensure!(ended? && over, "the virtual machine did not come to its end in {minutes} minutes\n    | {tail}");
    progress.done("");
    Ok(())
}

fn table(checks: &[Check]) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(["check", "", "what was seen"]);
    for check in checks {
        let (verdict, seen) = match &check.said {
            Ok(seen) => ("ok", seen),
            Err(seen) => ("FAILED", seen),
        };
        table.add_row([check.name, verdict, seen]);
    }
    table
}
