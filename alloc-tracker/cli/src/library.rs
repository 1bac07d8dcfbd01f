//! The library that is preloaded: beside this program, where a build leaves it, or unpacked from this program.
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::{cache, embedded};

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
    let unpacked = cache::folder().and_then(|folder| unpack(&folder));
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

/// Writes the copy in this program into `folder`. Copies of different builds have different names.
fn unpack(folder: &Path) -> Result<PathBuf> {
    let bytes = embedded::library();
    cache::put(folder, &format!("{:016x}-{NAME}", cache::fingerprint([bytes])), bytes)
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
    fn the_copy_is_a_library() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = unpack(&folder.path().join("cache")).expect("room");
        assert!(std::fs::read(&path).expect("the library").starts_with(b"\x7fELF"));
    }
}
