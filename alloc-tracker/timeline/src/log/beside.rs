//! The file of a log, beside the timeline to come: its name, whether a process writes it, and what becomes of one that is left over.
use std::fs::{self, File, Metadata, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::store::dump_path;

/// A log that has another name by the time that it is locked is looked for again, so often at the most.
const MOST_LOOKS: usize = 8;

/// Where the log of the timeline at `timeline` lies: `NAME.timeline.json.log`.
pub fn path_beside(timeline: impl AsRef<Path>) -> PathBuf {
    let mut path = timeline.as_ref().as_os_str().to_owned();
    path.push(".log");
    path.into()
}

/// Whether a process that runs is writing the log at `log`. `false` where the file system has no locks.
pub fn is_being_written(log: &Path) -> bool {
    File::open(log).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Makes way for the log of a timeline that is to be written to `timeline`. A log that is there already is all that is left of a run that
/// was killed, and nobody has asked to have it removed: it gets another name, which is returned.
///
/// # Errors
/// When a process that runs is writing it, or when it cannot be renamed.
pub fn set_aside(timeline: &Path) -> io::Result<Option<PathBuf>> {
    let log = path_beside(timeline);
    let identity = |file: &Metadata| (file.dev(), file.ino());
    // Where another recording of this name begins at this moment, the file may get another name before it is locked here.
    for _ in 0..MOST_LOOKS {
        // To open a pipe would be to wait for its reader.
        if !log.is_file() {
            return Ok(None);
        }
        let file = File::open(&log)?;
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
            return Err(busy());
        }
        // While it is locked, nobody else gives it another name.
        let own = file.metadata()?;
        if !fs::metadata(&log).is_ok_and(|there| identity(&there) == identity(&own)) {
            continue;
        }
        if own.len() == 0 {
            return Ok(None);
        }
        let names = (1..1_000_000).map(|number| path_beside(dump_path(timeline, "earlier", number)));
        let Some(aside) = names.into_iter().find(|path| !path.exists()) else { return Ok(None) };
        fs::rename(&log, &aside)?;
        return Ok(Some(aside));
    }
    Err(busy())
}

/// What a second recording of the same name is told.
pub(super) fn busy() -> io::Error {
    io::Error::new(io::ErrorKind::ResourceBusy, "a process that runs is recording it")
}
