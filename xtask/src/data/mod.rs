//! Images to train on: full sets from package registries, and the slice that is committed under `fixtures/`.

mod files;

mod fashion_mnist;
mod mnist;

mod slice;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use self::files::{NAMES, SetFacts, gz_path};
use crate::workspace::Workspace;

/// What `cargo xtask data` is asked to do.
#[derive(Args, Debug)]
pub struct DataArgs {
    /// Which set
    #[arg(value_enum)]
    set: Set,
    /// Where to put it [default: target/data/SET; for `slice`, fixtures/fashion-mnist]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// The sets that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Set {
    /// Fashion-MNIST: 60,000 + 10,000 pictures of clothes
    FashionMnist,
    /// MNIST: 60,000 + 10,000 hand-written digits
    Mnist,
    /// Cuts the slice of Fashion-MNIST under `fixtures/` again
    #[value(hide = true)]
    Slice,
}

/// The command `cargo xtask data`.
pub fn run(workspace: &Workspace, args: DataArgs) -> Result<()> {
    let data = workspace.root().join("target/data");
    match args.set {
        Set::FashionMnist => {
            let out = args.out.unwrap_or_else(|| data.join("fashion-mnist"));
            fashion_mnist::fetch(&out)?;
            report(&fashion_mnist::FACTS, &out)
        }
        Set::Mnist => {
            let out = args.out.unwrap_or_else(|| data.join("mnist"));
            mnist::fetch(&out)?;
            report(&mnist::FACTS, &out)
        }
        Set::Slice => {
            let out = args.out.unwrap_or_else(|| workspace.root().join("fixtures/fashion-mnist"));
            let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
            fashion_mnist::fetch(scratch.path())?;
            slice::cut(scratch.path(), &out)?;
            println!("cut {} + {} images into {}", slice::TRAIN, slice::TEST, workspace.short(&out));
            Ok(())
        }
    }
}

/// Brings the sets that rows of the study learn from: MNIST, and for full runs all of Fashion-MNIST. One that cannot be brought
/// is told of, and its rows say that it is missing.
pub fn bring_for_study(workspace: &Workspace, full: bool) {
    let data = workspace.root().join("target/data");
    let mut brought = vec![("MNIST", mnist::fetch(&data.join("mnist")))];
    if full {
        brought.push(("Fashion-MNIST", fashion_mnist::fetch(&data.join("fashion-mnist"))));
    }
    for (name, problem) in brought.into_iter().filter_map(|(name, ended)| Some((name, ended.err()?))) {
        eprintln!("note: rows that learn from {name} will have no numbers: {problem:#}");
    }
}

fn report(facts: &SetFacts, folder: &Path) -> Result<()> {
    println!("{}", facts.title);
    println!("  licence: {}", facts.licence);
    println!("  in {}:", folder.display());
    for name in NAMES {
        let path = gz_path(folder, name);
        let bytes = fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?.len();
        println!("    {name}.gz  {bytes} bytes");
    }
    println!("  use it with `trainer ... --data {}`", folder.display());
    Ok(())
}
