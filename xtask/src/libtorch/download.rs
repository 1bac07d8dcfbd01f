//! pip does the fetching: it knows the user's index, proxy and certificates. Nothing is installed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};

use super::packages::{PYTHON, Wheel};
use crate::pip::{self, Lack};
use crate::progress::Progress;
use crate::user_error::UserError;

/// Fetches every wheel into `folder`, which also holds pip's own temporary files, so that nothing stays elsewhere.
pub fn fetch(wheels: &[Wheel], folder: &Path) -> Result<()> {
    let temporary = folder.join("tmp");
    fs::create_dir_all(&temporary).with_context(|| format!("cannot make {}", temporary.display()))?;
    let total: u64 = wheels.iter().map(|wheel| wheel.bytes).sum();
    let progress = Progress::bytes("libtorch: fetch the PyPI packages", total);
    for wheel in wheels {
        progress.note(wheel.requirement);
        let log = folder.join("pip.log");
        let writer = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut python = Command::new("python3");
        python.args(arguments(wheel, folder)).env("TMPDIR", &temporary).env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
        python.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let child = python.spawn().context("cannot start python3")?;
        if !wait(child, || progress.at(arrived(folder, wheels)))? {
            return Err(explain(wheel, &fs::read_to_string(&log).unwrap_or_default()).into());
        }
        if !folder.join(wheel.file).exists() {
            let what = format!("pip was asked for {} and did not bring {}", wheel.requirement, wheel.file);
            let next = "the package index serves other builds: unset PIP_INDEX_URL and PIP_FIND_LINKS and run again, or set \
                        LIBTORCH to a folder with libtorch 2.11.0";
            return Err(UserError::new(what, next).into());
        }
    }
    fs::remove_dir_all(&temporary).with_context(|| format!("cannot delete {}", temporary.display()))?;
    progress.done(&format!("{} MB", total / 1_000_000));
    Ok(())
}

/// One fixed Python and platform, so that the file and its hash do not depend on the Python that runs pip. Without pip's
/// cache, which would keep another half gigabyte.
fn arguments(wheel: &Wheel, folder: &Path) -> Vec<String> {
    let fixed = [
        "-m",
        "pip",
        "download",
        "--no-input",
        "--no-cache-dir",
        "--progress-bar=off",
        "--no-deps",
        "--only-binary=:all:",
    ];
    let mut arguments: Vec<String> = fixed.map(str::to_owned).into();
    arguments.extend(["--implementation=cp".to_owned(), format!("--python-version={PYTHON}")]);
    arguments.extend([format!("--platform={}", wheel.platform), format!("--dest={}", folder.display())]);
    arguments.push(wheel.requirement.to_owned());
    arguments
}

fn wait(mut child: Child, mut tick: impl FnMut()) -> Result<bool> {
    loop {
        if let Some(status) = child.try_wait().context("cannot wait for pip")? {
            return Ok(status.success());
        }
        tick();
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Bytes that have arrived: pip writes a wheel under its own name in its temporary folder and then copies it.
fn arrived(folder: &Path, wheels: &[Wheel]) -> u64 {
    let mut sizes = BTreeMap::new();
    measure(folder, &mut sizes);
    wheels.iter().map(|wheel| sizes.get(wheel.file).copied().unwrap_or(0).min(wheel.bytes)).sum()
}

fn measure(folder: &Path, sizes: &mut BTreeMap<String, u64>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(data) = entry.metadata() else { continue };
        if data.is_dir() {
            measure(&entry.path(), sizes);
        } else {
            let size = sizes.entry(entry.file_name().to_string_lossy().into_owned()).or_default();
            *size = data.len().max(*size);
        }
    }
}

/// The error for a `pip` that failed: the likely reason from its log, its last lines, and what the user can do.
fn explain(wheel: &Wheel, log: &str) -> UserError {
    let lines: Vec<&str> = log.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let tail = lines[lines.len().saturating_sub(3)..].iter().fold(String::new(), |text, line| {
        // One warning of pip's can be as long as a page.
        let short: String = line.chars().take(300).collect();
        format!("{text}\n    pip: {short}")
    });
    let why = match pip::lack(log) {
        Some(Lack::Room) => "the disk is full (1.7 GB are needed while fetching)".to_owned(),
        Some(lack) => lack.to_string(),
        None => "pip could not fetch it".to_owned(),
    };
    let next = "run again when there is a network (PIP_INDEX_URL and HTTPS_PROXY are honoured), or set LIBTORCH to a folder \
                with libtorch 2.11.0, or copy the cache folder of a machine that has it and point ALLOC_TRACKER_FETCHED at it";
    UserError::new(format!("cannot fetch {}: {why}{tail}", wheel.requirement), next)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHEEL: Wheel = Wheel {
        requirement: "torch==2.11.0",
        platform: "manylinux_2_28_x86_64",
        file: "torch.whl",
        sha256: "",
        bytes: 10,
        libraries: &[],
    };

    #[test]
    fn the_wheel_does_not_depend_on_the_python_that_runs_pip() {
        let arguments = arguments(&WHEEL, Path::new("/d")).join(" ");
        assert_eq!(
            arguments,
            "-m pip download --no-input --no-cache-dir --progress-bar=off --no-deps --only-binary=:all: \
             --implementation=cp --python-version=3.11 --platform=manylinux_2_28_x86_64 --dest=/d torch==2.11.0"
        );
    }

    #[test]
    fn a_dead_network_is_called_that_with_pips_last_lines() {
        let log = "WARNING: Retrying: NewConnectionError\n\nERROR: Could not find a version (from versions: none)\n";
        let error = explain(&WHEEL, log);
        assert_eq!(
            error.what,
            "cannot fetch torch==2.11.0: no network, or the package index cannot be reached\n    \
             pip: WARNING: Retrying: NewConnectionError\n    pip: ERROR: Could not find a version (from versions: none)"
        );
        assert!(error.next.contains("set LIBTORCH to a folder with libtorch 2.11.0"));
    }

    #[test]
    fn another_failure_is_not_called_a_dead_network() {
        let error = explain(&WHEEL, "ERROR: odd\n");
        assert_eq!(error.what, "cannot fetch torch==2.11.0: pip could not fetch it\n    pip: ERROR: odd");
    }

    #[test]
    fn a_file_counts_once_while_pip_copies_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("tmp/pip-unpack-x")).unwrap();
        fs::write(folder.path().join("tmp/pip-unpack-x/torch.whl"), "1234567890").unwrap();
        fs::write(folder.path().join("torch.whl"), "123").unwrap();
        assert_eq!(arrived(folder.path(), &[WHEEL]), 10);
    }
}
