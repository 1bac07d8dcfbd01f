//! The Python package's copy in this program: unpacked, so that every Python that the program starts finds its module
//! `sitecustomize`, which has imports told and PyTorch watched. A package that is installed for that Python goes before the copy.
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::cache;

macro_rules! package {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../../python/alloc_tracker/", $name)))),*]
    };
}

/// The package's files: names in it, and what they say.
const FILES: [(&str, &str); 25] = package![
    "__init__.py",
    "__main__.py",
    "_arenas.py",
    "_blocks.py",
    "_calls.py",
    "_frames.py",
    "_imports.py",
    "_library.py",
    "_scopes.py",
    "_session.py",
    "_start/sitecustomize.py",
    "_torch/__init__.py",
    "_torch/calls.py",
    "_torch/compiling.py",
    "_torch/generated.py",
    "_torch/labels.py",
    "_torch/layers.py",
    "_torch/library.py",
    "_torch/operators.py",
    "_torch/phases.py",
    "_torch/running.py",
    "_torch/safely.py",
    "_torch/shared.py",
    "_torch/tensors.py",
    "_torch/watch.py",
];

/// The folder that Python's path is to begin with.
///
/// # Errors
/// When the package cannot be unpacked, or lies where Python's path cannot name it.
pub fn start_folder() -> Result<PathBuf> {
    let folder = unpack(&cache::folder()?)?.join("_start");
    if folder.to_string_lossy().contains(':') {
        bail!("{}: a path with a colon cannot stand in PYTHONPATH; set XDG_CACHE_HOME to another", folder.display());
    }
    Ok(folder)
}

/// Writes the package into `folder`, and returns its path. Packages of different builds lie in different folders.
fn unpack(folder: &Path) -> Result<PathBuf> {
    let build = cache::fingerprint(FILES.iter().flat_map(|file| [file.0, file.1]));
    let package = format!("{build:016x}-python/alloc_tracker");
    for (name, text) in FILES {
        cache::put(folder, &format!("{package}/{name}"), text.as_bytes())?;
    }
    Ok(folder.join(package))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_module_of_the_package_is_here() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/alloc_tracker");
        let mut modules = BTreeSet::new();
        for inner in ["", "_start/", "_torch/"] {
            let folder = std::fs::read_dir(package.join(inner)).expect("the package");
            let names = folder.map(|entry| entry.expect("a file").file_name().to_string_lossy().into_owned());
            modules.extend(names.filter(|name| name.ends_with(".py")).map(|name| format!("{inner}{name}")));
        }
        assert_eq!(modules, FILES.iter().map(|file| file.0.to_owned()).collect());
    }

    #[test]
    fn the_copy_is_unpacked() {
        let folder = tempfile::tempdir().expect("a folder");
        let package = unpack(&folder.path().join("cache")).expect("room");
        assert!(package.join("_start/sitecustomize.py").is_file() && package.join("_torch/watch.py").is_file());
    }
}
