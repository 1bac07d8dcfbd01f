//! A Python as a program that is started.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

/// Names a Python that has torch.
pub const VARIABLE: &str = "ALLOC_TRACKER_TEST_PYTHON";

/// The Python that the user names, if one is named.
pub fn named() -> Option<OsString> {
    std::env::var_os(VARIABLE)
}

/// Whether `python` runs, and has these modules (`torch, torchvision`).
pub fn imports(python: &Path, modules: &str) -> bool {
    let mut command = Command::new(python);
    command.args(["-c", &format!("import {modules}")]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// `python`, as runs that are compared have it: one thread, and nothing compiled that is left in the sources.
pub fn command(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.env("OMP_NUM_THREADS", "1").env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_run_imports_nothing() {
        assert!(!imports(Path::new("/nowhere/python3"), "sys"));
    }
}
