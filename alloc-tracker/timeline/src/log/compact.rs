//! Writes a log anew, in its shortest form.
use std::io;
use std::path::PathBuf;

use super::writer::{Writer, write_all};
use crate::kept_file::KeptFile;
use crate::record::Record;

/// A shorter log that is to be written; see [`LogFile::compaction`](super::LogFile::compaction). It can be sent to another
/// thread, because to write it takes a while.
#[derive(Debug)]
pub struct Compaction {
    pub(super) records: Vec<Record>,
    pub(super) path: PathBuf,
}

/// A shorter log that was written, and waits to be put in the place of the long one.
#[derive(Debug)]
pub struct Compacted {
    pub(super) writer: Writer<KeptFile>,
}

impl Compaction {
    /// Writes the shorter log beside the long one. The answer goes to
    /// [`LogFile::replace`](super::LogFile::replace), whatever it is.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(self) -> io::Result<Compacted> {
        let mut file = KeptFile::create_locked(&self.path)?;
        let bytes = write_all(&self.records, &mut file)?;
        Ok(Compacted { writer: Writer::resume(file, bytes) })
    }
}
