//! A file that stays open in a process whose program may close every descriptor that it finds, and be given the same number
//! for a file of its own.
//!
//! Daemons close all descriptors, and so does a child before it becomes another program. From then on a descriptor that
//! the recorder has kept may name a file of the program's: to write to it would damage the program's data, and to close it
//! would take the file away. So
//!
//! - a kept file has a high number. The system gives out the lowest number that is free: the program's files have the
//!   numbers that they have without a recorder, and none of them comes to a number that the recorder lost;
//! - before each use, device and inode say whether the descriptor is still that of the recorder's file. If not, the file is
//!   opened again by its path, and a descriptor that is another's is never closed.
//!
//! It serves for files that are read once as well, because a program may close descriptors at any moment.
//!
//! All this is needed where the kernel refuses the recorder's threads a table of descriptors of their own
//! (`alloc-tracker/src/sys/descriptors.rs`). In such a [`Table`] nobody else closes anything, and its files are not checked: a check
//! takes as long as a read of a short file, and some files are read every 10 ms.
//!
//! Left out, for those kernels: the check and the use are two system calls. Between them, a program would have to close this one
//! number and to be given it again, for which all lower numbers must be taken. And while a file is being opened it has a low number
//! for some microseconds: a program that closes that number then, and is given it for a file of its own before device and inode are
//! asked for, has that file taken for the recorder's, and closed.
use std::cell::Cell;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use rustix::io::fcntl_dupfd_cloexec;

/// Kept files have the first free number from one of these on: the first that the process's limit allows. They are no
/// higher, because the kernel's table of descriptors, which each fork copies, is as long as the highest number.
const HIGH_NUMBERS: [i32; 4] = [960, 448, 192, 96];
/// Each file is looked a number for from one higher than the file before, so many times; then from the first again. So a program
/// that closes the recorder's descriptors and takes these numbers for itself rarely takes one that the recorder is just being
/// given for another file. The table becomes no longer by it.
const TURNS: i32 = 32;
static TURN: AtomicI32 = AtomicI32::new(0);

/// A table of descriptors: the program's, which is the default, or one that only threads of the recorder have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Table(u32);

thread_local! {
    static TABLE: Cell<Table> = const { Cell::new(Table(0)) };
}

impl Table {
    /// A table that no thread has had so far, and that no thread of the program will have.
    pub fn own() -> Self {
        static LAST: AtomicU32 = AtomicU32::new(0);
        Table(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// The table of the calling thread.
    pub fn current() -> Self {
        TABLE.get()
    }

    /// Says that the calling thread has this table from now on.
    pub fn is_current_from_now_on(self) {
        TABLE.set(self);
    }
}

/// The text of the file at `path`, as [`fs::read_to_string`] gives it.
///
/// # Errors
/// As for [`fs::read_to_string`].
pub fn read_text(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::new();
    KeptFile::open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// A file of the recorder's, open for long.
#[derive(Debug)]
pub struct KeptFile {
    /// There until it is dropped.
    file: Option<File>,
    path: PathBuf,
    identity: Identity,
    /// The table that the descriptor is in.
    table: Table,
    /// Where [`Read`] goes on.
    position: u64,
}

/// Device and inode.
type Identity = (u64, u64);

impl KeptFile {
    /// Opens the file at `path` for reading.
    ///
    /// # Errors
    /// As for [`File::open`].
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_as(path.as_ref(), OpenOptions::new().read(true))
    }

    /// Creates the file at `path` for writing; what stood there before is gone.
    ///
    /// # Errors
    /// As for [`File::create`].
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::create_as(path.as_ref(), OpenOptions::new().write(true).create(true).truncate(true))
    }

    /// Creates the file at `path` for this process alone to write; what stood there before is gone. It is locked with `flock`, by which other
    /// processes see that this one writes it, and which ends with the process. Some file systems have no locks.
    ///
    /// # Errors
    /// As for [`File::create`], and when another process has it.
    pub fn create_locked(path: impl AsRef<Path>) -> io::Result<Self> {
        let kept = Self::create_as(path.as_ref(), OpenOptions::new().write(true).create(true).truncate(false))?;
        if let Some(file) = kept.own() {
            if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
                return Err(io::ErrorKind::ResourceBusy.into());
            }
            file.set_len(0)?;
        }
        Ok(kept)
    }

    /// Creates the file at `path` for writing, where there is none.
    ///
    /// # Errors
    /// As for [`File::create_new`].
    pub fn create_new(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::create_as(path.as_ref(), OpenOptions::new().write(true).create_new(true))
    }

    fn open_as(path: &Path, options: &OpenOptions) -> io::Result<Self> {
        let low = options.open(path)?;
        let identity = identity(&low.metadata()?);
        let turn = TURN.fetch_add(1, Ordering::Relaxed).rem_euclid(TURNS);
        let leasts = HIGH_NUMBERS.iter().flat_map(|&least| [least + turn, least]);
        let high = leasts.into_iter().find_map(|least| fcntl_dupfd_cloexec(&low, least).ok()).map(File::from);
        // Where no higher number is free, the check before each use must do.
        let file = match high {
            Some(high) => {
                close(low, identity);
                high
            }
            None => low,
        };
        Ok(KeptFile { file: Some(file), path: path.to_owned(), identity, table: Table::current(), position: 0 })
    }

    /// Opens a file that is to be written to, and makes sure that the descriptor leads to it: the program may have closed
    /// the low number before it became a high one.
    fn create_as(path: &Path, options: &OpenOptions) -> io::Result<Self> {
        let kept = Self::open_as(path, options)?;
        if kept.identity != identity(&fs::metadata(path)?) || kept.own().is_none() {
            return Err(io::Error::other("the program closed it at once"));
        }
        Ok(kept)
    }

    /// Reads up to `buffer.len()` bytes at `offset`; returns how many. A file that the program has closed is opened for
    /// this once, by its path.
    ///
    /// # Errors
    /// As for [`FileExt::read_at`].
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        match self.own() {
            Some(file) => file.read_at(buffer, offset),
            None => Self::open(&self.path)?.file.as_ref().map_or(Ok(0), |file| file.read_at(buffer, offset)),
        }
    }

    /// Gives the file the name `path`, whatever stood there.
    ///
    /// # Errors
    /// As for [`fs::rename`].
    pub fn rename(&mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.path = path.to_owned();
        Ok(())
    }

    /// The open file; `None` once the program has closed it.
    pub fn own(&self) -> Option<&File> {
        self.file.as_ref().filter(|file| self.is_out_of_reach() || leads_to(file, self.identity))
    }

    /// Whether the calling thread has the table that the descriptor is in, and the program has not.
    fn is_out_of_reach(&self) -> bool {
        self.table != Table::default() && self.table == Table::current()
    }

    /// Opens the file again at its end, after the program has closed it.
    fn open_again(&mut self) -> io::Result<()> {
        let lost = |why: String| io::Error::other(format!("the program has closed it, and {why}"));
        let again = Self::open_as(&self.path, OpenOptions::new().append(true));
        let mut again = again.map_err(|error| lost(format!("it cannot be opened again: {error}")))?;
        if again.identity != self.identity || again.own().is_none() {
            return Err(lost("another file has its name now".to_owned()));
        }
        let others = std::mem::replace(&mut self.file, again.file.take());
        self.table = again.table;
        // The old number is not ours to close.
        others.map(IntoRawFd::into_raw_fd);
        Ok(())
    }
}

/// Reads from the beginning on, without moving the offset of the descriptor.
impl Read for KeptFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.read_at(buffer, self.position)?;
        self.position += length as u64;
        Ok(length)
    }
}

/// Writes at the end. A file that the program has closed is opened again by its path, if that still leads to it.
impl Write for KeptFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.own().is_none() {
            self.open_again()?;
        }
        self.file.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for KeptFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            close(file, self.identity);
        }
    }
}

fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev(), metadata.ino())
}

fn leads_to(file: &File, file_of: Identity) -> bool {
    file.metadata().is_ok_and(|metadata| identity(&metadata) == file_of)
}

/// Closes the descriptor, unless it is that of another file by now.
fn close(file: File, own: Identity) {
    if leads_to(&file, own) {
        drop(file);
    } else {
        let _ = file.into_raw_fd();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_a_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("one"), "text").expect("a file");
        assert_eq!(read_text(path("one")).expect("a file"), "text");
        assert!(read_text(path("none")).is_err());
    }
}
