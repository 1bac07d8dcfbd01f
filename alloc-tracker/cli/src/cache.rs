//! The user's folder of files that this program unpacks from itself, for whoever has installed nothing but its binary.
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

/// The folder. It may not be there yet.
///
/// # Errors
/// When the environment names no place for such folders.
pub fn folder() -> Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    Ok(cache.context("neither XDG_CACHE_HOME nor HOME is set")?.join("alloc-tracker"))
}

/// Writes `bytes` as `name`, a path in `folder`, unless they are there already.
///
/// # Errors
/// When others than this user can write to the folder, who could put their own code there, or when there is no room.
pub fn put(folder: &Path, name: &str, bytes: &[u8]) -> Result<PathBuf> {
    let path = folder.join(name);
    let inner = path.parent().unwrap_or(folder);
    for folder in [folder, inner] {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .with_context(|| folder.display().to_string())?;
        let metadata = fs::metadata(folder).with_context(|| folder.display().to_string())?;
        // SAFETY: geteuid takes nothing and cannot fail.
        if metadata.uid() != unsafe { libc::geteuid() } || metadata.permissions().mode() & 0o022 != 0 {
            bail!("{}: others can write to this folder; make it writable for its owner alone", folder.display());
        }
    }
    if fs::read(&path).is_ok_and(|there| there == bytes) {
        return Ok(path);
    }
    let mut file = tempfile::NamedTempFile::new_in(inner).with_context(|| inner.display().to_string())?;
    let written = file.write_all(bytes).and_then(|()| file.persist(&path).map_err(|error| error.error));
    written.with_context(|| format!("{}: cannot be written; make room for it", path.display()))?;
    Ok(path)
}

/// A number that differs between builds (FNV-1a); [`put`] compares the bytes themselves besides.
pub fn fingerprint(parts: impl IntoIterator<Item = impl AsRef<[u8]>>) -> u64 {
    parts.into_iter().fold(0xcbf2_9ce4_8422_2325, |hash, part| {
        part.as_ref().iter().fold(hash, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_put_once_and_mended() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("cache");
        let path = put(&folder, "inner/name", b"right").expect("room");
        fs::write(&path, "damaged").expect("the folder is ours");
        assert_eq!(put(&folder, "inner/name", b"right").expect("room"), path);
        assert_eq!(fs::read(&path).expect("the file"), b"right");
        fs::set_permissions(path.parent().expect("inner"), fs::Permissions::from_mode(0o777))
            .expect("the folder is ours");
        assert!(put(&folder, "inner/name", b"right").is_err(), "others could have put their file there");
    }
}
