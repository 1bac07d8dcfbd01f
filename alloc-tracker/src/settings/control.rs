//! `ALLOC_TRACKER_CONTROL`: the folder through which others ask something of a recording, such as a dump.
use std::path::PathBuf;

/// The folder, if the environment names one.
pub fn control_folder() -> Option<PathBuf> {
    std::env::var_os("ALLOC_TRACKER_CONTROL").filter(|path| !path.is_empty()).map(PathBuf::from)
}
