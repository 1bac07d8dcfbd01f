//! The library that is preloaded: beside this program, where a build leaves it, or unpacked from this program.
use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::embedded;

const NAME: &str = "liballoc_preload.so";

/// Its path.
///
/// # Errors
/// When it is nowhere, and cannot be unpacked either. The message says where it was looked for.
pub fn find() -> Result<PathBuf> {
    let own = std::env::current_exe().context("this program's own path is not known")?;
    let places = places(&own);
    if let Some(path) = places.iter().find(|path| path.is_file()) {
        return usable(path.clone());
    }
    let folder = cache_folder();
    let unpacked = folder.as_deref().map_or_else(|| bail!("neither XDG_CACHE_HOME nor HOME is set"), unpack);
    let looked = places.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    unpacked.and_then(usable).with_context(|| {
        format!(
            "the library {NAME} is not there (looked at {looked}), and this program's copy of it cannot be unpacked"
        )
    })
}

/// Where it may lie already. Cargo puts the libraries of dependencies into `deps`.
fn places(own: &Path) -> Vec<PathBuf> {
    let folder = own.parent().unwrap_or(Path::new("."));
    vec![folder.join(NAME), folder.join("deps").join(NAME), folder.join("../lib").join(NAME)]
}

/// The loader takes spaces and colons in LD_PRELOAD for the ends of paths.
fn usable(path: PathBuf) -> Result<PathBuf> {
    if path.to_string_lossy().contains([' ', ':']) {
        bail!(
            "{}: the loader cannot preload a path with a space or a colon in it; install it elsewhere",
            path.display()
        );
    }
    Ok(path)
}

/// The user's folder for what can be made again.
fn cache_folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(cache.join("alloc-tracker"))
}

/// Writes the copy in this program into `folder`, if it is not there yet. Copies of different builds have different names.
fn unpack(folder: &Path) -> Result<PathBuf> {
    let bytes = embedded::library();
    let path = folder.join(format!("{:016x}-{NAME}", fingerprint(bytes)));
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).with_context(|| folder.display().to_string())?;
    // A library from a folder that others can write to would run their code.
    let metadata = fs::metadata(folder).with_context(|| folder.display().to_string())?;
    // SAFETY: geteuid takes nothing and cannot fail.
    if metadata.uid() != unsafe { libc::geteuid() } || metadata.permissions().mode() & 0o022 != 0 {
        bail!("{}: others can write to this folder; make it writable for its owner alone", folder.display());
    }
    if fs::read(&path).is_ok_and(|there| there == bytes) {
        return Ok(path);
    }
    let mut file = tempfile::NamedTempFile::new_in(folder).with_context(|| folder.display().to_string())?;
    let written = file.write_all(bytes).and_then(|()| file.persist(&path).map_err(|error| error.error));
    written.with_context(|| format!("{}: cannot be written; make room for it", path.display()))?;
    Ok(path)
}

/// A number that differs between builds (FNV-1a); the bytes themselves are compared besides.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_the_loader_would_cut_is_refused() {
        assert!(usable("/opt/my tools/x.so".into()).is_err());
        assert!(usable("/opt/a:b/x.so".into()).is_err());
        assert!(usable("/opt/tools/x.so".into()).is_ok());
    }

    #[test]
    fn the_copy_is_unpacked_once_and_mended() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("cache");
        let path = unpack(&folder).expect("room");
        assert!(fs::read(&path).expect("the library").starts_with(b"\x7fELF"));
        fs::write(&path, "damaged").expect("the folder is ours");
        assert_eq!(unpack(&folder).expect("room"), path);
        assert!(fs::read(&path).expect("the library").starts_with(b"\x7fELF"));
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("the folder is ours");
        assert!(unpack(&folder).is_err(), "others could have put their library there");
    }
}
