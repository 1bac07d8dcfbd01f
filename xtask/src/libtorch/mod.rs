//! libtorch 2.11.0 for tch 0.24.0: found where it already is, or fetched, and laid out in `.libtorch/`.
//!
//! ```text
//!  LIBTORCH of the user        wrong version: an error, never silently another one
//!  .libtorch in place          nothing to do
//!  Python's torch              only when it is 2.11.0 with headers
//!  cached copy                 only when its stamp agrees with every file
//!  PyPI packages               pip -> hash -> unpack into the cache
//!         |
//!      found::Libtorch  ->  layout  ->  .libtorch/{include, lib/, build-version, origin}
//! ```
//! What is left out: CUDA's three gigabytes. `libtorch_cpu.so` needs only the CUDA runtime and CUPTI beside it.

mod version;

mod cache;
mod found;

mod download;
mod packages;
mod unpack;

mod layout;

use std::env;
use std::path::Path;

use anyhow::{Context, Result};
use clap::Args;

use crate::prerequisite;
use crate::progress::Step;
use crate::trouble::Trouble;
use crate::workspace::Workspace;

use cache::Cache;
use found::Libtorch;
pub use version::WANTED;

/// What was asked of `cargo xtask libtorch`.
#[derive(Args, Clone, Copy, Debug, Default)]
pub struct Wish {
    /// Fetch nothing: use what is on this machine, or say what is missing
    #[arg(long)]
    pub offline: bool,
    /// Look again and lay out anew, even if `.libtorch/` is good
    #[arg(long)]
    pub again: bool,
}

/// The command: prints where libtorch lies.
pub fn run(workspace: &Workspace, wish: Wish) -> Result<()> {
    ensure(workspace, wish)?;
    let origin = layout::origin(&workspace.libtorch());
    println!("libtorch {WANTED} is in .libtorch ({origin})");
    Ok(())
}

/// After this, `.libtorch/` holds libtorch 2.11.0 and the machine can build on it.
pub fn ensure(workspace: &Workspace, wish: Wish) -> Result<()> {
    prerequisite::for_building()?;
    let place = workspace.libtorch();
    if let Some(folder) = found::users_own(workspace, env::var_os("LIBTORCH"))? {
        let libtorch = Libtorch::in_folder(&folder, format!("LIBTORCH={}", folder.display()))?;
        if wish.again || !layout::is_good(&place) || layout::origin(&place) != libtorch.origin {
            layout::make(&place, &libtorch)?;
        }
        return Ok(());
    }
    if !wish.again && layout::is_good(&place) {
        return Ok(());
    }
    let libtorch = search(wish, &place)?;
    layout::make(&place, &libtorch)
}

/// The places that the user did not name, in order; each that does not serve leaves a line for the error at the end.
fn search(wish: Wish, place: &Path) -> Result<Libtorch> {
    let mut looked = vec!["LIBTORCH is not set".to_owned()];
    match found::python_torch() {
        // One that cannot be loaded (its CUDA packages may be gone) is no reason to stop.
        Ok(libtorch) => match layout::try_out(place, &libtorch) {
            Ok(()) => return Ok(libtorch),
            Err(why) => looked.push(format!("{}: {why}", libtorch.origin)),
        },
        Err(why) => looked.push(why),
    }
    let cache = Cache::locate()?;
    match cache.entry() {
        Ok(folder) => return cached(&folder),
        Err(why) => looked.push(why),
    }
    if wish.offline {
        let what = format!("no libtorch {WANTED} on this machine, and --offline forbids to fetch it");
        let what = looked.iter().fold(what, |text, line| format!("{text}\n    {line}"));
        let next = "run again without --offline, or set LIBTORCH to a folder with libtorch 2.11.0";
        return Err(Trouble::new(what, next).into());
    }
    for line in looked {
        eprintln!("libtorch {WANTED}: {line}");
    }
    fetch(&cache)
}

/// From the package index into the cache; what an interrupted fetch leaves is never taken for good.
fn fetch(cache: &Cache) -> Result<Libtorch> {
    let wheels = packages::for_this_machine()?;
    prerequisite::for_fetching()?;
    let folder = cache.install(|partial| {
        let downloads = partial.join("downloads");
        download::fetch(wheels, &downloads)?;
        let total: u64 = wheels.iter().map(|wheel| wheel.bytes).sum();
        let step = Step::bytes("libtorch: check SHA-256 and unpack", total);
        for wheel in wheels {
            let file = downloads.join(wheel.file);
            crate::checksum::verify_or_delete(&file, wheel.sha256, |bytes| step.add(bytes))?;
            step.note(&format!("unpack {}", wheel.requirement));
            unpack::wheel(&file, wheel.libraries, partial)?;
            std::fs::remove_file(&file).with_context(|| format!("cannot delete {}", file.display()))?;
        }
        std::fs::remove_dir_all(&downloads).with_context(|| format!("cannot delete {}", downloads.display()))?;
        version::write(partial)?;
        step.done("");
        Ok(())
    })?;
    cached(&folder)
}

fn cached(folder: &Path) -> Result<Libtorch> {
    Libtorch::in_folder(folder, format!("{}, {}", cache::ORIGIN, folder.display()))
}
