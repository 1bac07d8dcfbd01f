//! The folder that all checkouts of a user share. What is fetched and large lies in it, once.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::user_error::UserError;

/// `ALLOC_TRACKER_FETCHED`, else `alloc-tracker` in `XDG_CACHE_HOME` or `~/.cache`.
pub fn locate() -> Result<PathBuf> {
    let folder = choose(|name| env::var_os(name))?;
    let here = env::current_dir().context("the current folder is gone")?;
    Ok(here.join(folder))
}

fn choose(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf> {
    let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = folder("ALLOC_TRACKER_FETCHED") {
        return Ok(folder);
    }
    let above = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")));
    let no_home = || UserError::new("no place for the cache: HOME is not set", "set ALLOC_TRACKER_FETCHED to a folder");
    Ok(above.ok_or_else(no_home)?.join("alloc-tracker"))
}

/// Makes `folder` and takes the lock `name` in it, which ends with the file that is returned. Waits for another run that fetches
/// `what`.
pub fn lock(folder: &Path, name: &str, what: &str) -> Result<File> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join(name);
    let file = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => eprintln!("{what}: another run is fetching it; waiting for that one"),
        Err(TryLockError::Error(error)) => {
            return Err(error).with_context(|| format!("cannot lock {}", path.display()));
        }
    }
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_lies_where_the_variables_say() {
        let with = |pairs: &'static [(&str, &str)]| {
            choose(|name| pairs.iter().find(|pair| pair.0 == name).map(|pair| OsString::from(pair.1)))
        };
        assert_eq!(with(&[("HOME", "/h")]).unwrap(), Path::new("/h/.cache/alloc-tracker"));
        assert_eq!(with(&[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")]).unwrap(), Path::new("/x/alloc-tracker"));
        assert_eq!(with(&[("HOME", "/h"), ("ALLOC_TRACKER_FETCHED", "/mine")]).unwrap(), Path::new("/mine"));
        assert_eq!(with(&[]).unwrap_err().to_string(), "no place for the cache: HOME is not set");
    }
}
