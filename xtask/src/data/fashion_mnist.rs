//! Fashion-MNIST from the Debian package `dataset-fashion-mnist`: installed already, or unpacked without root.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::{Known, NAMES, Pinned, idx, is_there, packed, store};
use crate::prerequisite;
use crate::progress::Step;
use crate::trouble::Trouble;

const PACKAGE: &str = "dataset-fashion-mnist";
/// Where the package puts its files.
const INSTALLED: &str = "usr/share/datasets/fashion-mnist";

/// What is fixed about it.
pub const KNOWN: Known = Known {
    title: "Fashion-MNIST, 60,000 + 10,000 images of 28 x 28 in ten classes of clothes, by Zalando SE (2017)",
    licence: "MIT",
    files: [
        Pinned { name: NAMES[0], sha256: "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888" },
        Pinned { name: NAMES[1], sha256: "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9" },
        Pinned { name: NAMES[2], sha256: "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b" },
        Pinned { name: NAMES[3], sha256: "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34" },
    ],
};

/// Brings the four files into `folder`.
pub fn fetch(folder: &Path) -> Result<()> {
    if is_there(&KNOWN, folder) {
        return Ok(());
    }
    let installed = Path::new("/").join(INSTALLED);
    if packed(&installed, NAMES[0]).exists() {
        eprintln!("Fashion-MNIST: the Debian package {PACKAGE} is installed");
        return take(&installed, folder);
    }
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    unpack_package(scratch.path())?;
    take(&scratch.path().join("unpacked").join(INSTALLED), folder)
}

fn take(from: &Path, folder: &Path) -> Result<()> {
    let contents = [0, 1, 2, 3].map(|file| idx::read_packed(&packed(from, NAMES[file])));
    let [a, b, c, d] = contents;
    store(&KNOWN, &[a?, b?, c?, d?], folder)
}

/// `apt-get download` and `dpkg-deb -x` need no root: nothing is installed.
fn unpack_package(scratch: &Path) -> Result<()> {
    let by_hand = format!(
        "on another system get the Debian package {PACKAGE} by hand, unpack it (`ar x`, `tar xf data.tar.*`), and give the \
         trainer its folder {INSTALLED} with --data"
    );
    for tool in ["apt-get", "dpkg-deb"] {
        if !prerequisite::quiet(Command::new(tool).arg("--version")) {
            let what = format!("no {tool} found: Fashion-MNIST comes from the Debian package {PACKAGE}");
            return Err(Trouble::new(what, by_hand).into());
        }
    }
    let step = Step::open(format!("Fashion-MNIST: apt-get download {PACKAGE} (31 MB)"));
    let output = Command::new("apt-get").args(["download", PACKAGE]).current_dir(scratch).output();
    let output = output.context("cannot start apt-get")?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let tail = text.lines().rev().take(3).collect::<Vec<_>>().into_iter().rev();
        let what =
            tail.fold(format!("apt-get could not fetch {PACKAGE}"), |text, line| format!("{text}\n    apt: {line}"));
        let next =
            format!("`sudo apt-get update` if the package lists are empty, or run again with a network; {by_hand}");
        return Err(Trouble::new(what, next).into());
    }
    let package = fs::read_dir(scratch)
        .context("cannot read the temporary folder")?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.extension().is_some_and(|extension| extension == "deb"))
        .context("apt-get download left no .deb file")?;
    let unpacked = Command::new("dpkg-deb").arg("-x").arg(&package).arg(scratch.join("unpacked")).status();
    anyhow::ensure!(
        unpacked.context("cannot start dpkg-deb")?.success(),
        "dpkg-deb could not unpack {}",
        package.display()
    );
    step.done("");
    Ok(())
}
