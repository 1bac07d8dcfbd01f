//! Small files of the kernel, kept open and read again and again.
use std::path::{Path, PathBuf};

use alloc_timeline::kept_file::KeptFile;

use crate::sys;

/// The entries of a folder whose names begin with `prefix`, sorted; none when the folder cannot be read.
pub fn entries(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let listed = sys::entries(folder).unwrap_or_default().into_iter();
    let mut paths: Vec<PathBuf> = listed
        .filter(|entry| entry.name.to_string_lossy().starts_with(prefix))
        .map(|entry| folder.join(entry.name))
        .collect();
    paths.sort();
    paths
}

/// The name of a path's last part.
pub fn last_part(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The text of a file, without the blanks around it. `None` when it cannot be read, and when it is empty.
pub fn word(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// A file with one whole number in it.
#[derive(Debug)]
pub struct NumberFile {
    file: KeptFile,
    path: PathBuf,
}

impl NumberFile {
    /// Opens the file, and reads it once to see that it can be read.
    ///
    /// # Errors
    /// A sentence on why not.
    pub fn open(path: PathBuf) -> Result<NumberFile, String> {
        let file = KeptFile::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let file = NumberFile { file, path };
        file.read().map(|_| file)
    }

    /// The number.
    ///
    /// # Errors
    /// A sentence on why there is none.
    pub fn read(&self) -> Result<i64, String> {
        let mut text = [0; 64];
        let length = self.file.read_at(&mut text, 0).map_err(|error| format!("{}: {error}", self.path.display()))?;
        let number = std::str::from_utf8(&text[..length]).ok().and_then(|text| text.trim().parse().ok());
        number.ok_or_else(|| format!("{}: holds no whole number", self.path.display()))
    }

    /// The number, where it cannot be negative.
    ///
    /// # Errors
    /// As for [`read`](Self::read), and when it is negative.
    pub fn read_positive(&self) -> Result<u64, String> {
        u64::try_from(self.read()?).map_err(|_| format!("{}: holds a negative number", self.path.display()))
    }
}
