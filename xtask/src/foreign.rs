//! What the tests need of other projects: the tests of glibc's malloc, and Debian's build of jemalloc to compare with.
//! Both are fetched once, into `target/foreign/`, so that none of it is committed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::debian::Archive;
use crate::workspace::Workspace;

const NEXT_STEP: &str = "the tests that need it say that they were skipped";

/// The command `cargo xtask foreign`.
///
/// # Errors
/// When a package cannot be fetched or is not made as expected.
pub fn fetch(workspace: &Workspace) -> Result<()> {
    let folder = workspace.root().join("target/foreign");
    if folder.join("libjemalloc.so.2").is_file() && glibc(&folder).is_some() {
        return Ok(());
    }
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let fresh = scratch.path().join("fresh");
    fs::create_dir_all(&fresh).context("cannot make a folder")?;
    let debian = Archive::of_this_machine(NEXT_STEP);
    let source = debian.unpack("glibc-source", scratch.path())?.join("usr/src/glibc");
    let archive = entry(&source, "glibc-", ".tar.xz").context("glibc-source has no glibc-VERSION.tar.xz")?;
    let name = archive.file_name().unwrap_or_default().to_string_lossy().replace(".tar.xz", "/malloc");
    let mut tar = Command::new("tar");
    tar.arg("-xJf").arg(&archive).arg("-C").arg(&fresh).arg(name);
    anyhow::ensure!(
        tar.status().context("cannot start tar")?.success(),
        "tar could not unpack {} (it needs xz)",
        archive.display()
    );
    let libraries = debian.unpack("libjemalloc2", scratch.path())?.join("usr/lib");
    let machine = format!("{}-linux-gnu", std::env::consts::ARCH);
    let library = libraries.join(machine).join("libjemalloc.so.2");
    fs::copy(&library, fresh.join("libjemalloc.so.2")).with_context(|| format!("no {}", library.display()))?;
    place(&fresh, &folder)
}

/// The temporary folder may lie on another disk, so a rename is not enough.
fn place(fresh: &Path, folder: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let copied = Command::new("cp").arg("-R").arg(fresh.join(".")).arg(folder).status();
    anyhow::ensure!(copied.context("cannot start cp")?.success(), "cannot copy into {}", folder.display());
    Ok(())
}

/// The folder of glibc's malloc in `folder`.
fn glibc(folder: &Path) -> Option<PathBuf> {
    entry(folder, "glibc-", "").map(|found| found.join("malloc")).filter(|found| found.join("tst-malloc.c").is_file())
}

/// The last entry of `folder`, by name, whose name begins with `start` and ends with `end`.
fn entry(folder: &Path, start: &str, end: &str) -> Option<PathBuf> {
    let names = fs::read_dir(folder).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.starts_with(start) && name.ends_with(end)).max().map(|name| folder.join(name))
}
