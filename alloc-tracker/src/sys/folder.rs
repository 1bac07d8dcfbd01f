//! The entries of a folder.
use std::ffi::OsString;
use std::io;
use std::path::Path;

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: OsString,
    /// Whether it is a folder itself.
    pub is_folder: bool,
}

/// The entries of `folder`, in no order. Takes memory for what it returns and no more: the C library's `opendir` takes a
/// block of 32 KiB each time, from the very heap that is looked at.
///
/// # Errors
/// When the folder cannot be read.
#[cfg(target_os = "linux")]
pub fn entries(folder: &Path) -> io::Result<Vec<Entry>> {
    use std::mem::MaybeUninit;
    use std::os::unix::ffi::OsStrExt;

    use alloc_timeline::kept_file::KeptFile;
    use rustix::fs::{FileType, RawDir};

    // A name has at most 255 bytes (NAME_MAX).
    let mut buffer = [MaybeUninit::uninit(); 2048];
    let kept = KeptFile::open(folder)?;
    let mut entries = Vec::new();
    let Some(file) = kept.own() else { return Ok(entries) };
    let mut listed = RawDir::new(file, &mut buffer);
    while let Some(entry) = listed.next() {
        let entry = entry?;
        let name = std::ffi::OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." {
            continue;
        }
        let is_folder = match entry.file_type() {
            FileType::Unknown => folder.join(name).is_dir(),
            kind => kind == FileType::Directory,
        };
        entries.push(Entry { name: name.to_owned(), is_folder });
    }
    Ok(entries)
}

/// The entries of `folder`, in no order.
///
/// # Errors
/// When the folder cannot be read.
#[cfg(not(target_os = "linux"))]
pub fn entries(folder: &Path) -> io::Result<Vec<Entry>> {
    let entry = |entry: io::Result<std::fs::DirEntry>| {
        let entry = entry?;
        Ok(Entry { name: entry.file_name(), is_folder: entry.file_type()?.is_dir() })
    };
    std::fs::read_dir(folder)?.map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More names than one buffer holds, some of the greatest length.
    #[test]
    fn all_entries_are_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut expected: Vec<Entry> = (0..40)
            .map(|number| Entry { name: format!("{number:0>255}").into(), is_folder: number % 2 == 0 })
            .chain([Entry { name: "short".into(), is_folder: false }])
            .collect();
        for entry in &expected {
            let path = folder.path().join(&entry.name);
            if entry.is_folder {
                std::fs::create_dir(path).expect("a folder");
            } else {
                std::fs::write(path, "").expect("a file");
            }
        }
        let mut found = entries(folder.path()).expect("the folder");
        found.sort_by(|one, other| one.name.cmp(&other.name));
        expected.sort_by(|one, other| one.name.cmp(&other.name));
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_folder_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(entries(&folder.path().join("gone")).is_err());
        std::fs::write(folder.path().join("file"), "").expect("a file");
        assert!(entries(&folder.path().join("file")).is_err());
    }
}
