//! A virtual environment with torch, torchvision and what tests run with them, which all checkouts of a user share, beside libtorch.
//!
//! ```text
//!  python-torch/              as pip makes it; nothing is renamed, because an environment has its own path in its programs
//!      made                   its packages; written last, so that half an environment is none
//!  python-torch.lock          held while it is made
//! ```

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::interpreter::imports;
use crate::progress::Progress;
use crate::workspace::Workspace;
use crate::{child, pip, prerequisite, shared_folder};

/// What is fetched, one package a line: the version of libtorch that the trainer is built with.
const REQUIREMENTS: &str = "fixtures/torchvision/requirements.txt";
/// The modules that the environment is for.
pub const MODULES: &str = "torch, torchvision";
const NAME: &str = "python-torch";
const STAMP: &str = "made";
/// What must be free on its disk, in bytes: 3 GB of packages while they are fetched, and 5 GB of what was in them.
const ROOM: u64 = 12_000_000_000;

/// What fetching means, for people.
pub const WHAT: &str = "torch and torchvision (about 3 GB from PyPI, 5 GB on disk)";

/// A Python with torch and torchvision, or why there is none.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// The Python.
    Python(PathBuf),
    /// What this machine lacks.
    Skipped(String),
}

/// The environment, whether it is made or not.
#[derive(Debug)]
pub struct Environment {
    folder: PathBuf,
    requirements: PathBuf,
}

impl Environment {
    /// The one that all checkouts share.
    ///
    /// # Errors
    /// When no folder is known for it.
    pub fn locate(workspace: &Workspace) -> Result<Self> {
        Ok(Self { folder: shared_folder::locate()?.join(NAME), requirements: workspace.root().join(REQUIREMENTS) })
    }

    /// Where it lies, whether it is made or not.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its Python, if it was made to its end of the packages that are wanted, and still runs.
    pub fn made(&self) -> Option<PathBuf> {
        let stamp = fs::read_to_string(self.folder.join(STAMP)).ok()?;
        (stamp == self.wanted().ok()?).then(|| self.python()).filter(|python| imports(python, MODULES))
    }

    /// Makes it, if it is not made.
    ///
    /// # Errors
    /// When it is not what the machine lacks that stands in the way.
    pub fn make(&self) -> Result<Found> {
        if let Some(python) = self.made() {
            return Ok(Found::Python(python));
        }
        if let Err(lacking) = prerequisite::for_fetching() {
            return Ok(Found::Skipped(lacking.to_string()));
        }
        let above = self.folder.parent().context("it has a folder above it")?;
        let _lock = shared_folder::lock(above, &format!("{NAME}.lock"), "torch and torchvision")?;
        if let Some(python) = self.made() {
            return Ok(Found::Python(python));
        }
        self.remove()?;
        if let Some(why) = too_little(free(above)?) {
            return Ok(Found::Skipped(format!("{why} for {WHAT}")));
        }
        let found = self.fill();
        if let Ok(Found::Python(_)) = found {
            fs::write(self.folder.join(STAMP), self.wanted()?).context("cannot write the stamp")?;
        } else {
            // Gigabytes that nobody can use. If even this fails, there is no stamp, and the next run removes them.
            let _ = self.remove();
        }
        found
    }

    /// Fills the folder, and tries the Python in it.
    fn fill(&self) -> Result<Found> {
        let temporary = self.folder.join("tmp");
        let progress = Progress::open(format!("fetch {WHAT}"));
        let folder = &self.folder;
        // Debian has the module that puts pip into an environment in a package of its own: then the machine's pip fills it.
        let venv = |more: &[&str]| {
            let mut command = Command::new("python3");
            command.args(["-m", "venv", "--clear"]).args(more).arg(folder);
            child::run_to_end(&mut command, &progress)
        };
        if venv(&[])?.code != Some(0) {
            venv(&["--without-pip"])?.expect_success("python3 -m venv")?;
        }
        fs::create_dir_all(&temporary).with_context(|| format!("cannot make {}", temporary.display()))?;
        let own_pip = prerequisite::succeeds(Command::new(self.python()).args(["-m", "pip", "--version"]));
        let mut command = if own_pip { Command::new(self.python()) } else { Command::new("python3") };
        command.args(["-m", "pip"]);
        if !own_pip {
            command.arg("--python").arg(self.python());
        }
        command.args(["install", "--no-input", "--no-cache-dir", "--progress-bar=off", "--disable-pip-version-check"]);
        command.arg("--requirement").arg(&self.requirements).env("TMPDIR", &temporary);
        let ran = child::run_to_end(&mut command, &progress)?;
        if ran.code != Some(0)
            && let Some(lack) = pip::lack(&ran.stderr)
        {
            return Ok(Found::Skipped(format!("{lack}: {WHAT} could not be fetched")));
        }
        ran.expect_success("pip install")?;
        fs::remove_dir_all(&temporary).with_context(|| format!("cannot delete {}", temporary.display()))?;
        let mut trial = Command::new(self.python());
        child::run_to_end(trial.args(["-c", &format!("import {MODULES}")]), &progress)?
            .expect_success("the import of torch and torchvision")?;
        progress.done("");
        Ok(Found::Python(self.python()))
    }

    fn python(&self) -> PathBuf {
        self.folder.join("bin/python")
    }

    fn remove(&self) -> Result<()> {
        if !self.folder.exists() {
            return Ok(());
        }
        fs::remove_dir_all(&self.folder).with_context(|| format!("cannot remove {}", self.folder.display()))
    }

    /// The stamp of an environment with the packages that are wanted.
    fn wanted(&self) -> Result<String> {
        let text = fs::read_to_string(&self.requirements)
            .with_context(|| format!("cannot read {}", self.requirements.display()))?;
        let packages = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        Ok(packages.fold(String::new(), |text, line| text + line.trim() + "\n"))
    }
}

/// The bytes that are free for this user on the disk of `folder`.
fn free(folder: &Path) -> Result<u64> {
    let disk = rustix::fs::statvfs(folder)
        .with_context(|| format!("cannot ask how full the disk of {} is", folder.display()))?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Says so if that is too little.
fn too_little(free: u64) -> Option<String> {
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    (free < ROOM).then(|| format!("{:.1} GB are free, and {:.0} are needed", gigabytes(free), gigabytes(ROOM)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// An environment whose Python is a script that has every module.
    fn environment(folder: &Path) -> Environment {
        let environment = Environment { folder: folder.join(NAME), requirements: folder.join("requirements.txt") };
        fs::write(&environment.requirements, "# a remark\ntorch==2.11.0\n\nnumpy\n").unwrap();
        fs::create_dir_all(environment.folder.join("bin")).unwrap();
        fs::write(environment.python(), "#!/bin/sh\n").unwrap();
        fs::set_permissions(environment.python(), fs::Permissions::from_mode(0o755)).unwrap();
        environment
    }

    #[test]
    fn half_an_environment_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let environment = environment(folder.path());
        assert_eq!(environment.made(), None);
        fs::write(environment.folder.join(STAMP), "torch==2.11.0\nnumpy\n").unwrap();
        assert_eq!(environment.made(), Some(environment.python()));
        assert_eq!(environment.make().unwrap(), Found::Python(environment.python()));
    }

    #[test]
    fn an_environment_of_other_packages_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let environment = environment(folder.path());
        fs::write(environment.folder.join(STAMP), "torch==2.10.0\nnumpy\n").unwrap();
        assert_eq!(environment.made(), None);
    }

    #[test]
    fn an_environment_whose_python_is_gone_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let environment = environment(folder.path());
        fs::write(environment.folder.join(STAMP), environment.wanted().unwrap()).unwrap();
        fs::write(environment.python(), "#!/bin/sh\nexit 1\n").unwrap();
        assert_eq!(environment.made(), None);
    }

    #[test]
    fn a_full_disk_is_told_in_numbers() {
        assert_eq!(too_little(ROOM), None);
        assert_eq!(too_little(1_250_000_000).unwrap(), "1.2 GB are free, and 12 are needed");
        assert!(free(Path::new("/")).unwrap() > 0);
    }
}
