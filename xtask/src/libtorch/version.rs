//! The one version that tch 0.24.0 is written for, and how a folder says which one it holds.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// The version that the bindings need; headers and libraries of any other differ in ways a compiler may not notice.
pub const WANTED: &str = "2.11.0";

/// Whether `2.11.0`, `2.11.0+cpu` or `2.11.0+cu130` is the wanted version.
pub fn agrees(found: &str) -> bool {
    found.split('+').next() == Some(WANTED)
}

/// What a folder says about itself: libtorch's `build-version`, or `version.py` of a Python torch.
pub fn of_folder(folder: &Path) -> Option<String> {
    if let Ok(text) = fs::read_to_string(folder.join("build-version")) {
        return Some(text.trim().to_owned());
    }
    of_version_py(&fs::read_to_string(folder.join("version.py")).ok()?)
}

/// `__version__ = '2.11.0+cu130'`
fn of_version_py(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("__version__")?.trim_start().strip_prefix('='))?;
    let value = value.trim().trim_matches(['\'', '"']);
    (!value.is_empty()).then(|| value.to_owned())
}

/// Writes the file that torch-sys checks.
pub fn write(folder: &Path) -> Result<()> {
    let file = folder.join("build-version");
    fs::write(&file, format!("{WANTED}\n")).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_of_the_wanted_version_agree_and_no_other() {
        assert!(["2.11.0", "2.11.0+cpu", "2.11.0+cu130"].into_iter().all(agrees));
        assert!(!["2.11", "2.11.01", "2.1.0", "2.12.0", "2.5.1+cpu", ""].into_iter().any(agrees));
    }

    #[test]
    fn a_python_torch_says_its_version_in_version_py() {
        let text = "from typing import Optional\n\n__all__ = ['__version__', 'debug']\n__version__ = '2.11.0+cu130'\ndebug = False\n";
        assert_eq!(of_version_py(text).as_deref(), Some("2.11.0+cu130"));
        assert_eq!(of_version_py("debug = False"), None);
    }
}
