//! Puts the hooks in, after proving that there is something to see.
use std::sync::Once;

use alloc_tracker::{hooks, interposition, untracked_objects};
use tch::{Kind, Tensor};

/// Why libtorch cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// libtorch's allocations go past the tracker.
    #[error(
        "libtorch's allocations do not reach the tracker ({detail}): a profile would miss nearly all memory. \
         Write `use alloc_interpose as _;` in main.rs, and link no other malloc"
    )]
    NotInterposed {
        /// Which object calls whose function.
        detail: String,
    },
    /// The tracker is switched off.
    #[error("the tracker is off: remove ALLOC_TRACKER=off from the environment")]
    Off,
}

unsafe extern "C" {
    fn alloc_torch_watch_storages();
}

/// Hooks into libtorch's operators and tensor storages, once for the process; further calls change nothing.
///
/// # Errors
/// Refuses when `malloc` or `posix_memalign` of a libtorch library is not the tracker's, or when a tensor's memory is
/// not tracked.
pub fn install() -> Result<(), InstallError> {
    if !hooks::is_on() {
        return Err(InstallError::Off);
    }
    let resolutions = interposition();
    let astray = untracked_objects(&resolutions);
    let libtorch = |object: &str| ["libtorch", "libc10", "libgomp"].iter().any(|part| object.contains(part));
    if let Some(wrong) = astray.iter().find(|resolution| libtorch(&resolution.object)) {
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
        crate::ops::watch(false);
        // SAFETY: called once; it only registers an allocator that forwards to the one before.
        unsafe { alloc_torch_watch_storages() };
    });
    Ok(())
}
