//! Puts the hooks in, after proving that there is something to see.
use std::sync::Once;

use alloc_tracker::{hooks, interposition, untracked_objects};
use tch::{Kind, Tensor};

use crate::devices::watch_devices;
use crate::events::ATTRIBUTION;
use crate::shim;

/// Why libtorch cannot be watched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstallError {
    /// libtorch's allocations go past the tracker.
    #[error(
        "libtorch's allocations do not reach the tracker ({detail}): a profile would miss nearly all memory. \
         Write `use alloc_interpose as _;` in main.rs, and link no other malloc"
    )]
    #[non_exhaustive]
    NotInterposed {
        /// Which object calls whose function.
        detail: String,
    },
    /// The tracker is switched off.
    #[error("the tracker is off: remove ALLOC_TRACKER=off from the environment")]
    Off,
}

/// Parts of the names of the libraries that must call the tracker's `malloc`.
const LIBTORCH: [&str; 3] = ["libtorch", "libc10", "libgomp"];

/// Hooks into libtorch's operators and tensor storages, once for the process; further calls change nothing. Where libtorch
/// knows of a device such as a GPU, the blocks of its memory are watched as well.
///
/// ```no_run
/// match alloc_torch::install() {
///     Ok(()) => {}
///     Err(alloc_torch::InstallError::Off) => eprintln!("goes on without a profile"),
///     Err(error) => panic!("{error}"),
/// }
/// ```
///
/// # Errors
/// [`InstallError::NotInterposed`] when `malloc` or `posix_memalign` of a libtorch library is not the tracker's, or when a
/// tensor's memory is not tracked; [`InstallError::Off`] with `ALLOC_TRACKER=off`.
pub fn install() -> Result<(), InstallError> {
    if !hooks::is_on() {
        return Err(InstallError::Off);
    }
    let resolutions = interposition();
    let untracked = untracked_objects(&resolutions);
    let is_libtorch = |object: &str| LIBTORCH.iter().any(|part| object.contains(part));
    if let Some(wrong) = untracked.iter().find(|resolution| is_libtorch(&resolution.object)) {
        let detail = format!("{} calls {} of {}", wrong.object, wrong.symbol, wrong.resolved_in);
        return Err(InstallError::NotInterposed { detail });
    }
    let probe = Tensor::zeros([1024], (Kind::Float, tch::Device::Cpu));
    if !hooks::is_tracked(probe.data_ptr().cast_const().cast()) {
        return Err(InstallError::NotInterposed {
            detail: "the memory of a tensor made just now is unknown".to_owned(),
        });
    }
    static HOOKS: Once = Once::new();
    HOOKS.call_once(|| {
        ATTRIBUTION.prepare();
        shim::watch_operators(true);
        shim::watch_storages();
        // Without a device, CPU storages are not asked about one more thing.
        if shim::has_device() {
            watch_devices();
        }
    });
    Ok(())
}

/// Whether operators tell which storages they read, as they do from [`install`] on. Without that the timeline cannot say
/// what of the peak nobody reads again, and libtorch does not wrap each operator's arguments for us. Programs whose layers
/// are named by parameters ([`name_layers`](crate::name_layers)) need it, and so do those that leave it to operators to tell
/// phases, steps, and what layers are.
///
/// ```no_run
/// alloc_torch::install()?;
/// alloc_torch::watch_reads(false);
/// # Ok::<(), alloc_torch::InstallError>(())
/// ```
pub fn watch_reads(on: bool) {
    shim::watch_operators(on);
}
