//! Fashion-MNIST from the Debian package `dataset-fashion-mnist`: installed already, or unpacked without root.

use std::path::Path;

use anyhow::{Context, Result};

use super::files::{NAMES, PinnedFile, SetFacts, gz_path, read};
use crate::debian::Archive;

const PACKAGE: &str = "dataset-fashion-mnist";
/// Where the package puts its files.
const INSTALLED: &str = "usr/share/datasets/fashion-mnist";

/// What is fixed about it.
pub const FACTS: SetFacts = SetFacts {
    title: "Fashion-MNIST, 60,000 + 10,000 images of 28 x 28 in ten classes of clothes, by Zalando SE (2017)",
    licence: "MIT",
    files: [
        PinnedFile { name: NAMES[0], sha256: "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888" },
        PinnedFile { name: NAMES[1], sha256: "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9" },
        PinnedFile { name: NAMES[2], sha256: "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b" },
        PinnedFile { name: NAMES[3], sha256: "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34" },
    ],
};

/// Brings the four files into `folder`.
pub fn fetch(folder: &Path) -> Result<()> {
    if FACTS.is_in(folder) {
        return Ok(());
    }
    let installed = Path::new("/").join(INSTALLED);
    if gz_path(&installed, NAMES[0]).exists() {
        eprintln!("Fashion-MNIST: the Debian package {PACKAGE} is installed");
        return store_from(&installed, folder);
    }
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let by_hand = format!(
        "on another system get the Debian package {PACKAGE} by hand, unpack it (`ar x`, `tar xf data.tar.*`), and give the \
         trainer its folder {INSTALLED} with --data"
    );
    let unpacked = Archive::of_this_machine(&by_hand).unpack(PACKAGE, scratch.path())?;
    store_from(&unpacked.join(INSTALLED), folder)
}

/// Checks and copies the set from the package's folder.
fn store_from(package: &Path, folder: &Path) -> Result<()> {
    let [a, b, c, d] = NAMES.map(|name| read(&gz_path(package, name), name));
    FACTS.store(&[a?, b?, c?, d?], folder)
}
