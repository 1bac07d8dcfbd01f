//! `cargo xtask aarch64`: the tracker's tests, and whole programs recorded, on an emulated machine with another processor and, where
//! Debian has such a kernel, with pages of 16 KiB.
//!
//! ```text
//! cross.rs (what runs there) -> virtual_machine: guest.sh -> files in a folder -> checks.rs -> a table
//! ```
mod checks;
mod cross;

use std::fs;

use anyhow::{Context, Result};
use clap::Args;

use crate::debian::Archive;
use crate::outcome::Outcome;
use crate::virtual_machine::check::{self, Check};
use crate::virtual_machine::left::Left;
use crate::virtual_machine::{AARCH64, Guest, image};
use crate::workspace::Workspace;

const GUEST: &str = include_str!("guest.sh");
/// Packages that stand for Debian's kernels, with the size of their pages in KiB.
const KERNELS: [(&str, u32); 2] = [("linux-image-arm64", 4), ("linux-image-arm64-16k", 16)];

/// What can be typed behind `cargo xtask aarch64`.
#[derive(Debug, Args)]
pub struct Aarch64Args {
    /// Package of a kernel for arm64 [default: those that linux-image-arm64 and linux-image-arm64-16k stand for; a release without
    /// the second has the first alone].
    #[arg(long, value_name = "PACKAGE")]
    kernel: Option<String>,
    /// Take all packages from another release of Debian than this machine's, such as trixie, the first with a kernel of 16 KiB.
    #[arg(long, value_name = "NAME")]
    release: Option<String>,
    /// Minutes after which a virtual machine is ended.
    #[arg(long, value_name = "N", default_value_t = 30)]
    minutes: u32,
}

/// The command `cargo xtask aarch64`.
///
/// # Errors
/// When the programs cannot be built, a package cannot be fetched, or the virtual machine does not run.
pub fn run(workspace: &Workspace, args: &Aarch64Args) -> Result<Outcome> {
    if let Some(reason) = AARCH64.why_not().or_else(cross::why_not) {
        println!("skipped: {reason}");
        return Ok(Outcome::Fine);
    }
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let debian = Archive::of("arm64", args.release.as_deref(), scratch.path(), image::NEXT)?;
    let root = scratch.path().join("root");
    debian.unpack_with_dependencies(&["busybox-static", "coreutils", "libgcc-s1", "python3"], &root)?;
    cross::build(workspace, &root)?;
    let here = cross::record_here(workspace, scratch.path())?;

    let mut broken = false;
    for kernel in kernels(&debian, args.kernel.as_deref())? {
        let out = scratch.path().join(format!("out-{kernel}"));
        fs::create_dir(&out).context("cannot make a folder")?;
        fs::write(out.join("guest.sh"), GUEST).context("cannot write a file")?;
        let image = image::make(&debian, &kernel, scratch.path())?;
        let guest = Guest { image: &image, root: &root, out: &out, minutes: args.minutes };
        AARCH64.boot(&guest, &format!("an emulated machine with {kernel}"))?;
        let left = Left::read(&out);
        let checks: Vec<Check> = checks::all(&left, &here);
        println!("{}", check::table(&checks));
        println!("Linux {}, {}\n", left.kernel(), AARCH64.qemu);
        broken |= checks.iter().any(Check::is_broken);
    }
    Ok(if broken { Outcome::CheckFailed } else { Outcome::Fine })
}

/// The packages of the kernels to boot.
fn kernels(debian: &Archive, asked: Option<&str>) -> Result<Vec<String>> {
    if let Some(kernel) = asked {
        return Ok(vec![kernel.to_owned()]);
    }
    let mut kernels = Vec::new();
    for (package, kib) in KERNELS {
        match debian.stands_for(package) {
            Some(kernel) => kernels.push(kernel),
            None => println!("skipped: pages of {kib} KiB, because apt knows no {package}; `--release trixie` has one"),
        }
    }
    anyhow::ensure!(!kernels.is_empty(), "there is no kernel to boot");
    Ok(kernels)
}
