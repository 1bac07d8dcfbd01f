//! `cargo xtask wheel`: the recorder and the Python package as one file that pip installs, for any Python 3 on any Linux whose glibc
//! is new enough. `pip wheel alloc-tracker/python` calls it.
//!
//! ```text
//!  pyproject.toml -> project ------------------------+
//!  alloc-tracker, the program -> platform -> tag ----+-> archive -> alloc_tracker-VERSION-TAG.whl
//!  alloc_tracker/*.py, licenses ---------------------+
//! ```
mod archive;
mod platform;
mod project;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;

use self::archive::Archive;
use self::platform::Platform;
use self::project::Project;
use crate::workspace::Workspace;
use crate::{prerequisite, programs, python};

const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// What `cargo xtask wheel` is asked to do.
#[derive(Args, Clone, Debug)]
pub struct WheelArgs {
    /// The folder that it is put into
    #[arg(long, value_name = "FOLDER", default_value = "target/wheels")]
    out: PathBuf,
    /// An `alloc-tracker` that is already built [default: it is built]
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// The command: prints the wheel's path, last.
///
/// # Errors
/// When the program cannot be built, or needs what not every machine has.
pub fn run(workspace: &Workspace, args: WheelArgs) -> Result<()> {
    let program = match args.program {
        Some(program) => program,
        None => {
            prerequisite::for_building()?;
            let built = programs::build(workspace, &["--locked", "--package", "alloc-tracker-cli"])?;
            built.command(workspace, "alloc-tracker")?.get_program().into()
        }
    };
    let program = fs::read(&program).with_context(|| format!("cannot read {}", program.display()))?;
    fs::create_dir_all(&args.out).with_context(|| format!("cannot make {}", args.out.display()))?;
    println!("{}", write(workspace, &program, &args.out)?.display());
    Ok(())
}

/// Writes the wheel with this program into `folder`; returns its path.
fn write(workspace: &Workspace, program: &[u8], folder: &Path) -> Result<PathBuf> {
    let platform = Platform::of(program).context("no wheel can be made of alloc-tracker")?;
    anyhow::ensure!(
        platform.files > 1,
        "alloc-tracker has no library in itself, so a wheel of it could record nothing"
    );
    let tag = platform.tag();
    let package = workspace.root().join(python::PACKAGE);
    let project = Project::read(&package)?;
    let stem = project.stem()?;
    let path = folder.join(format!("{stem}-{tag}.whl"));
    let mut archive = Archive::create(&path)?;
    for name in python::modules(&package)? {
        let file = package.join(&name);
        let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        archive.add(&name, &bytes)?;
    }
    archive.add_program(&format!("{stem}.data/scripts/alloc-tracker"), program)?;
    for name in LICENSES {
        let bytes = fs::read(workspace.root().join(name)).with_context(|| format!("cannot read {name}"))?;
        archive.add(&format!("{stem}.dist-info/licenses/{name}"), &bytes)?;
    }
    archive.add(&format!("{stem}.dist-info/METADATA"), project.metadata(&LICENSES)?.as_bytes())?;
    archive.add(&format!("{stem}.dist-info/WHEEL"), project::wheel(&tag).as_bytes())?;
    archive.finish(&format!("{stem}.dist-info/RECORD"))?;
    Ok(path)
}
