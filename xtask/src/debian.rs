//! Files from Debian's packages, without root and without installing anything.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result};

use crate::prerequisite;
use crate::progress::Progress;
use crate::user_error::UserError;

/// Unpacks the package of that name. Returns the folder in `scratch` that holds its `usr`. `next` is what a user can do
/// whose machine has no Debian packages.
///
/// # Errors
/// Without `apt-get` or `dpkg-deb`, and when the package cannot be fetched.
pub fn unpack(package: &str, scratch: &Path, next: &str) -> Result<PathBuf> {
    for tool in ["apt-get", "dpkg-deb"] {
        if !prerequisite::succeeds(Command::new(tool).arg("--version")) {
            return Err(UserError::new(format!("no {tool} found, and {package} is a package of Debian"), next).into());
        }
    }
    let folder = scratch.join(package);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let progress = Progress::open(format!("apt-get download {package}"));
    let mut output = download(package, &folder)?;
    // An image made for containers comes without package lists; only root can get them.
    if !output.status.success() && prerequisite::succeeds(Command::new("apt-get").args(["update", "-qq"])) {
        output = download(package, &folder)?;
    }
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let tail = text.lines().rev().take(3).collect::<Vec<_>>().into_iter().rev();
        let what =
            tail.fold(format!("apt-get could not fetch {package}"), |text, line| format!("{text}\n    apt: {line}"));
        let again = "`sudo apt-get update` if the package lists are empty, or run again with a network";
        return Err(UserError::new(what, format!("{again}; {next}")).into());
    }
    let file = fs::read_dir(&folder)
        .context("cannot read the temporary folder")?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .context("apt-get download left no .deb file")?;
    let unpacked = folder.join("unpacked");
    let status = Command::new("dpkg-deb").arg("-x").arg(&file).arg(&unpacked).status();
    anyhow::ensure!(status.context("cannot start dpkg-deb")?.success(), "dpkg-deb could not unpack {}", file.display());
    progress.done("");
    Ok(unpacked)
}

fn download(package: &str, folder: &Path) -> Result<Output> {
    let mut apt = Command::new("apt-get");
    apt.args(["download", package]).current_dir(folder).output().context("cannot start apt-get")
}
