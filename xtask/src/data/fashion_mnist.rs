//! Fashion-MNIST from the Debian package `dataset-fashion-mnist`: installed already, or unpacked without root.

use std::path::Path;

use anyhow::{Context, Result};

use super::{Known, NAMES, Pinned, idx, is_there, packed, store};
use crate::debian;

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
    let by_hand = format!(
        "on another system get the Debian package {PACKAGE} by hand, unpack it (`ar x`, `tar xf data.tar.*`), and give the \
         trainer its folder {INSTALLED} with --data"
    );
    let unpacked = debian::unpack(PACKAGE, scratch.path(), &by_hand)?;
    take(&unpacked.join(INSTALLED), folder)
}

fn take(from: &Path, folder: &Path) -> Result<()> {
    let contents = [0, 1, 2, 3].map(|file| idx::read_packed(&packed(from, NAMES[file])));
    let [a, b, c, d] = contents;
    store(&KNOWN, &[a?, b?, c?, d?], folder)
}
