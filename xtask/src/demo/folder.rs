//! The folder of a demo, and what lies in it in the end.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Makes the folder, or empties it: files of an earlier demo must not be taken for those of this one.
pub fn make_empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("cannot empty {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// The files of a folder and their sizes in bytes.
pub fn listing(folder: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut files = entries
        .map(|entry| entry.and_then(|entry| Ok((entry.path(), entry.metadata()?.len()))))
        .collect::<Result<Vec<_>, _>>()
        .with_context(|| format!("cannot read {}", folder.display()))?;
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_earlier_demo_left_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("demo");
        make_empty(&place).unwrap();
        fs::write(place.join("old.svg"), "old").unwrap();
        assert_eq!(listing(&place).unwrap(), [(place.join("old.svg"), 3)]);
        make_empty(&place).unwrap();
        assert_eq!(listing(&place).unwrap(), []);
    }
}
