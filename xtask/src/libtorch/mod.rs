//! libtorch 2.11.0 for tch 0.24.0: found where it already is, or fetched, and laid out in `.libtorch/`.
//!
//! ```text
//!  LIBTORCH of the user        wrong version: an error, never silently another one
//!  .libtorch in place          nothing to do
//!  Python's torch              only when it is 2.11.0 with headers
//!  cached copy                 only when its stamp agrees with every file
//!  PyPI packages               pip -> hash -> unpack into the cache
//!         |
//!      candidate::Libtorch  ->  layout  ->  .libtorch/{include, lib/, build-version, origin}
//! ```
//! What is left out: CUDA's three gigabytes. `libtorch_cpu.so` needs only the CUDA runtime and CUPTI beside it.

mod version;

mod cache;
mod candidate;

mod packages;

mod download;
mod unpack;

mod layout;

use std::env;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;

use crate::checksum;
use crate::prerequisite;
use crate::progress::Progress;
use crate::user_error::UserError;
use crate::workspace::Workspace;

use self::cache::Cache;
use self::candidate::Libtorch;
use self::version::WANTED;

/// What `cargo xtask libtorch` is asked to do.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct LibtorchArgs {
    /// Fetch nothing: use what is on this machine, or say what is missing
    #[arg(long)]
    pub offline: bool,
    /// Look again and lay out anew, even if `.libtorch/` is good
    #[arg(long)]
    pub again: bool,
}

/// The command: prints where libtorch lies.
pub fn run(workspace: &Workspace, args: LibtorchArgs) -> Result<()> {
    ensure(workspace, args)?;
    let origin = layout::origin(&workspace.libtorch());
    println!("libtorch {WANTED} is in .libtorch ({origin})");
    Ok(())
}

/// After this, `.libtorch/` holds libtorch 2.11.0 and the machine can build on it.
pub fn ensure(workspace: &Workspace, args: LibtorchArgs) -> Result<()> {
    prerequisite::for_building()?;
    let place = workspace.libtorch();
    if let Some(folder) = candidate::users_own(workspace, env::var_os("LIBTORCH"))? {
        let libtorch = Libtorch::in_folder(&folder, format!("LIBTORCH={}", folder.display()))?;
        if args.again || !layout::is_good(&place) || layout::origin(&place) != libtorch.origin {
            layout::make(&place, &libtorch)?;
        }
        return Ok(());
    }
    if !args.again && layout::is_good(&place) {
        return Ok(());
    }
    let libtorch = search(args, &place)?;
    layout::make(&place, &libtorch)
}

/// Looks at the places that the user did not name, in order, and fetches libtorch when none of them has it. Each place
/// that cannot be used leaves a line for the message to the user.
fn search(args: LibtorchArgs, place: &Path) -> Result<Libtorch> {
    let mut rejected = vec!["LIBTORCH is not set".to_owned()];
    match candidate::python_torch() {
        // One that cannot be loaded (its CUDA packages may be gone) is no reason to stop.
        Ok(libtorch) => match layout::try_out(place, &libtorch) {
            Ok(()) => return Ok(libtorch),
            Err(why) => rejected.push(format!("{}: {why}", libtorch.origin)),
        },
        Err(why) => rejected.push(why),
    }
    let cache = Cache::locate()?;
    match cache.entry() {
        Ok(folder) => return cached(&folder),
        Err(why) => rejected.push(why),
    }
    if args.offline {
        let what = format!("no libtorch {WANTED} on this machine, and --offline forbids to fetch it");
        let what = rejected.iter().fold(what, |text, line| format!("{text}\n    {line}"));
        let next = "run again without --offline, or set LIBTORCH to a folder with libtorch 2.11.0";
        return Err(UserError::new(what, next).into());
    }
    for line in rejected {
        eprintln!("libtorch {WANTED}: {line}");
    }
    fetch(&cache)
}

/// Fetches libtorch from the package index into the cache. What an interrupted fetch leaves is never used.
fn fetch(cache: &Cache) -> Result<Libtorch> {
    let wheels = packages::for_this_machine()?;
    prerequisite::for_fetching()?;
    let folder = cache.install(|partial| {
        let downloads = partial.join("downloads");
        download::fetch(wheels, &downloads)?;
        let total: u64 = wheels.iter().map(|wheel| wheel.bytes).sum();
        let progress = Progress::bytes("libtorch: check SHA-256 and unpack", total);
        for wheel in wheels {
            let file = downloads.join(wheel.file);
            checksum::verify_or_delete(&file, wheel.sha256, |bytes| progress.add(bytes))?;
            progress.note(&format!("unpack {}", wheel.requirement));
            unpack::wheel(&file, wheel.libraries, partial)?;
            std::fs::remove_file(&file).with_context(|| format!("cannot delete {}", file.display()))?;
        }
        std::fs::remove_dir_all(&downloads).with_context(|| format!("cannot delete {}", downloads.display()))?;
        version::write(partial)?;
        progress.done("");
        Ok(())
    })?;
    cached(&folder)
}

fn cached(folder: &Path) -> Result<Libtorch> {
    Libtorch::in_folder(folder, format!("{}, {}", cache::ORIGIN, folder.display()))
}
