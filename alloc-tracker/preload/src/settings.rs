//! What the environment says about recording.
use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::loadable::without_own;

/// Which processes are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// All that inherit the environment.
    All,
    /// Those that have loaded libtorch.
    Torch,
    /// The first program alone.
    Nobody,
}

/// How this process is to be recorded.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The path of the timeline, with `%p` for the process id.
    pub output: PathBuf,
    /// Which processes.
    pub follow: Follow,
    /// Whether this is the program that the user has named, or what it has become by exec.
    pub is_first: bool,
}

impl Settings {
    /// Reads them; `None` when nothing is to be recorded.
    pub fn read() -> Option<Settings> {
        let output = env::var_os("ALLOC_TRACKER_RECORD").filter(|path| !path.is_empty())?;
        let follow = match env::var("ALLOC_TRACKER_FOLLOW").as_deref() {
            Ok("none") => Follow::Nobody,
            Ok("torch") => Follow::Torch,
            _ => Follow::All,
        };
        let recorder: Option<u32> = env::var("ALLOC_TRACKER_RECORDER").ok().and_then(|text| text.parse().ok());
        let is_first = recorder == Some(std::os::unix::process::parent_id());
        Some(Settings { output: output.into(), follow, is_first })
    }

    /// Keeps the programs that this one starts from being recorded.
    ///
    /// # Safety
    /// No other thread may read or change the environment meanwhile.
    pub unsafe fn end_inheritance() {
        // ALLOC_TRACKER_CONTROL stays: this process's own recorder reads it when it starts.
        for name in ["ALLOC_TRACKER_RECORD", "ALLOC_TRACKER_FOLLOW", "ALLOC_TRACKER_RECORDER"] {
            // SAFETY: as the caller promises.
            unsafe { env::remove_var(name) };
        }
        let preloaded = env::var_os("LD_PRELOAD").unwrap_or_default();
        let others = without_own(preloaded.as_bytes()).collect::<Vec<_>>().join(&b':');
        // SAFETY: as the caller promises.
        unsafe {
            if others.is_empty() {
                env::remove_var("LD_PRELOAD")
            } else {
                env::set_var("LD_PRELOAD", OsStr::from_bytes(&others))
            }
        }
    }
}
