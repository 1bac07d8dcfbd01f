//! The cache that all checkouts share: one folder for each libtorch, which is complete or not there.
//!
//! ```text
//!  libtorch-2.11.0-x86_64.partial/   being filled; whatever an interrupted run left here is removed by the next
//!          | the stamp is written last, then one rename
//!  libtorch-2.11.0-x86_64/
//!      include/ lib/ build-version
//!      stamp                         "BYTES PATH" for every file
//!  lock                              held while filling, so that two runs do not fill it at once
//! ```

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::version::WANTED;
use crate::shared_folder;
use crate::user_error::UserError;

const STAMP: &str = "stamp";

/// The origin of a libtorch from the cache, as it is shown to the user.
pub const ORIGIN: &str = "cached copy of the PyPI packages";

/// The folder that is shared by all checkouts of a user.
#[derive(Debug, Clone)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The one in the folder that all checkouts share.
    pub fn locate() -> Result<Self> {
        Ok(Self { folder: shared_folder::locate()? })
    }

    fn complete(&self) -> PathBuf {
        self.folder.join(format!("libtorch-{WANTED}-{}", env::consts::ARCH))
    }

    fn partial(&self) -> PathBuf {
        self.folder.join(format!("libtorch-{WANTED}-{}.partial", env::consts::ARCH))
    }

    /// The cached copy, when it is whole.
    ///
    /// # Errors
    /// Why it cannot be used, as a line of the list of places that were looked at.
    pub fn entry(&self) -> Result<PathBuf, String> {
        let folder = self.complete();
        check(&folder).map(|()| folder.clone()).map_err(|why| format!("cache: {}: {why}", folder.display()))
    }

    /// Lets `fill` fill an empty folder, writes the stamp, and gives the folder its name with one rename.
    pub fn install(&self, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        let shown = self.folder.display();
        let next = "make room or set ALLOC_TRACKER_FETCHED to a folder that can be written (1.7 GB while fetching, 0.5 GB after)";
        fs::create_dir_all(&self.folder)
            .map_err(|error| UserError::new(format!("cannot make the cache folder {shown}: {error}"), next))?;
        let _lock = shared_folder::lock(&self.folder, "lock", "libtorch")?;
        let complete = self.complete();
        if check(&complete).is_ok() {
            return Ok(complete);
        }
        let partial = self.partial();
        for leftover in [&partial, &complete] {
            if leftover.exists() {
                eprintln!("libtorch: {} is left from an interrupted run: removed", leftover.display());
                fs::remove_dir_all(leftover).with_context(|| format!("cannot remove {}", leftover.display()))?;
            }
        }
        fs::create_dir(&partial).with_context(|| format!("cannot make {}", partial.display()))?;
        let filled = fill(&partial).and_then(|()| write_stamp(&partial)).and_then(|()| {
            fs::rename(&partial, &complete).with_context(|| format!("cannot rename {}", partial.display()))
        });
        if let Err(error) = filled {
            // Nothing half-installed stays. If even this fails, the stamp is missing, and the next run removes the folder.
            let _ = fs::remove_dir_all(&partial);
            return Err(error);
        }
        Ok(complete)
    }
}

/// Whether a folder holds all files that its stamp lists, each with its size.
///
/// # Errors
/// Says in words what is missing or wrong.
pub fn check(folder: &Path) -> Result<(), String> {
    if !folder.is_dir() {
        return Err("not there".to_owned());
    }
    let stamp = fs::read_to_string(folder.join(STAMP)).map_err(|_| "not complete (it has no stamp)".to_owned())?;
    for line in stamp.lines() {
        let (bytes, path) = line.split_once(' ').ok_or_else(|| "its stamp cannot be read".to_owned())?;
        let found = fs::metadata(folder.join(path)).map(|data| data.len().to_string());
        match found {
            Ok(found) if found == bytes => {}
            Ok(found) => return Err(format!("damaged: {path} has {found} bytes, its stamp says {bytes}")),
            Err(_) => return Err(format!("damaged: {path} is gone")),
        }
    }
    Ok(())
}

fn write_stamp(folder: &Path) -> Result<()> {
    let mut lines = Vec::new();
    list(folder, folder, &mut lines)?;
    lines.sort();
    let path = folder.join(STAMP);
    fs::write(&path, lines.concat()).with_context(|| format!("cannot write {}", path.display()))
}

fn list(top: &Path, folder: &Path, lines: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry.with_context(|| format!("cannot read {}", folder.display()))?;
        let data = entry.metadata().with_context(|| format!("cannot read {}", entry.path().display()))?;
        if data.is_dir() {
            list(top, &entry.path(), lines)?;
        } else {
            let path = entry.path();
            let below = path.strip_prefix(top).expect("it was found below it");
            lines.push(format!("{} {}\n", data.len(), below.display()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { folder: folder.path().join("cache") };
        (folder, cache)
    }

    fn fill(folder: &Path) -> Result<()> {
        fs::create_dir(folder.join("lib"))?;
        fs::write(folder.join("lib/a.so"), "12345")?;
        Ok(fs::write(folder.join("build-version"), "2.11.0\n")?)
    }

    #[test]
    fn what_was_filled_is_found_again_with_a_stamp_of_every_file() {
        let (_keep, cache) = cache();
        let why = cache.entry().unwrap_err();
        assert!(why.ends_with(": not there"), "{why}");
        let folder = cache.install(fill).unwrap();
        assert_eq!(cache.entry(), Ok(folder.clone()));
        assert_eq!(fs::read_to_string(folder.join(STAMP)).unwrap(), "5 lib/a.so\n7 build-version\n");
    }

    #[test]
    fn a_second_install_fills_nothing() {
        let (_keep, cache) = cache();
        cache.install(fill).unwrap();
        cache.install(|_| panic!("there is nothing to fill")).unwrap();
    }

    #[test]
    fn a_half_filled_folder_is_not_taken_for_good_and_replaced() {
        let (_keep, cache) = cache();
        // As SIGKILL leaves it: the partial folder with a library cut short, and no stamp.
        let partial = cache.partial();
        fs::create_dir_all(partial.join("lib")).unwrap();
        fs::write(partial.join("lib/a.so"), "12").unwrap();
        assert!(cache.entry().is_err());
        let folder = cache.install(fill).unwrap();
        assert_eq!(fs::read(folder.join("lib/a.so")).unwrap(), b"12345");
        assert!(!partial.exists());
    }

    #[test]
    fn a_folder_with_the_right_name_but_no_stamp_is_not_taken_for_good() {
        let (_keep, cache) = cache();
        fs::create_dir_all(cache.complete()).unwrap();
        fill(&cache.complete()).unwrap();
        assert!(cache.entry().unwrap_err().ends_with("not complete (it has no stamp)"));
        cache.install(fill).unwrap();
        cache.entry().unwrap();
    }

    #[test]
    fn a_file_that_was_cut_short_later_is_noticed() {
        let (_keep, cache) = cache();
        let folder = cache.install(fill).unwrap();
        fs::write(folder.join("lib/a.so"), "123").unwrap();
        assert!(cache.entry().unwrap_err().ends_with("damaged: lib/a.so has 3 bytes, its stamp says 5"));
        fs::remove_file(folder.join("lib/a.so")).unwrap();
        assert!(cache.entry().unwrap_err().ends_with("damaged: lib/a.so is gone"));
    }

    #[test]
    fn a_failed_install_leaves_nothing() {
        let (_keep, cache) = cache();
        let error = cache.install(|partial| fill(partial).and_then(|()| anyhow::bail!("hash differs"))).unwrap_err();
        assert_eq!(error.to_string(), "hash differs");
        let left: Vec<_> = fs::read_dir(&cache.folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["lock"]);
    }
}
