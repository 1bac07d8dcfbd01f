//! A libtorch that is already on the machine, and whether it can be used.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::version::{self, WANTED};
use crate::user_error::UserError;
use crate::workspace::Workspace;

/// A libtorch that can be used: what `.libtorch/` will point at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Libtorch {
    /// Its headers.
    pub include: PathBuf,
    /// Its libraries, and those they need.
    pub libraries: Vec<PathBuf>,
    /// Where it comes from, as it is shown to the user.
    pub origin: String,
}

/// Libraries that would pull Python or the whole of CUDA into every program that is linked. `libtorch.so` is only a
/// list of others, and the layout writes its own.
const LEFT_OUT: [&str; 9] = [
    "libtorch.so",
    "libtorch_python",
    "libtorch_cuda",
    "libtorch_hip",
    "libtorch_xpu",
    "libtorch_nvshmem",
    "libtorch_global_deps",
    "libc10_cuda",
    "libcaffe2_nvrtc",
];

impl Libtorch {
    /// The libtorch in `folder` (a libtorch distribution, or the `torch` folder of a Python package).
    ///
    /// # Errors
    /// When the folder is not there, says no version or another one, or lacks headers or libraries.
    pub fn in_folder(folder: &Path, origin: String) -> Result<Self> {
        let next = format!(
            "set LIBTORCH to a folder with libtorch {WANTED} (`include/`, `lib/`, `build-version`), or unset it: then \
             `cargo xtask libtorch` finds or fetches the right one"
        );
        let refuse = |what: String| Err(UserError::new(what, next.clone()).into());
        let shown = folder.display();
        if !folder.is_dir() {
            return refuse(format!("there is no folder {shown} ({origin})"));
        }
        match version::of_folder(folder) {
            Some(found) if version::agrees(&found) => {}
            Some(found) => {
                return refuse(format!("{shown} holds libtorch {found}, but tch 0.24.0 needs {WANTED} ({origin})"));
            }
            None => {
                return refuse(format!(
                    "{shown} does not say which libtorch it holds (no build-version, no version.py), and tch 0.24.0 \
                     needs {WANTED} ({origin})"
                ));
            }
        }
        for needed in ["include/torch/csrc/api/include/torch/torch.h", "lib/libtorch_cpu.so", "lib/libc10.so"] {
            if !folder.join(needed).exists() {
                return refuse(format!("the libtorch in {shown} is not complete: it has no {needed} ({origin})"));
            }
        }
        let mut libraries = libraries_in(&folder.join("lib"), |name| {
            !LEFT_OUT
                .iter()
                .any(|left_out| name == *left_out || (!left_out.ends_with(".so") && name.starts_with(left_out)))
        })?;
        libraries.extend(cuda_beside(folder)?);
        Ok(Self { include: folder.join("include"), libraries, origin })
    }
}

/// The shared libraries of a folder that `take` wants, sorted by name.
fn libraries_in(folder: &Path, take: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut libraries = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if (name.ends_with(".so") || name.contains(".so.")) && take(&name) {
            libraries.push(path);
        }
    }
    libraries.sort();
    Ok(libraries)
}

/// A Python torch with CUDA keeps the CUDA runtime and CUPTI in packages beside it: `nvidia/*/lib`.
fn cuda_beside(torch: &Path) -> Result<Vec<PathBuf>> {
    let Some(nvidia) = torch.parent().map(|site| site.join("nvidia")).filter(|folder| folder.is_dir()) else {
        return Ok(Vec::new());
    };
    let mut libraries = Vec::new();
    for package in fs::read_dir(&nvidia).with_context(|| format!("cannot read {}", nvidia.display()))? {
        let folder = package.with_context(|| format!("cannot read {}", nvidia.display()))?.path().join("lib");
        if folder.is_dir() {
            let wanted = |name: &str| name.starts_with("libcudart.so.") || name.starts_with("libcupti.so.");
            libraries.extend(libraries_in(&folder, wanted)?);
        }
    }
    libraries.sort();
    Ok(libraries)
}

/// The folder in a LIBTORCH that the user has set. `.cargo/config.toml` sets it to our own `.libtorch` for everything
/// that cargo starts, this program included: that value does not count.
pub fn users_own(workspace: &Workspace, variable: Option<OsString>) -> Result<Option<PathBuf>> {
    let Some(value) = variable.filter(|value| !value.is_empty()) else { return Ok(None) };
    let folder = env::current_dir().context("the current folder is gone")?.join(value);
    Ok((!is_our_place(workspace, &folder)).then_some(folder))
}

fn is_our_place(workspace: &Workspace, folder: &Path) -> bool {
    let ours = workspace.libtorch();
    // The name is compared as it stands and only the folder above it is resolved: `.libtorch` may itself be a link.
    let real_parent = |path: &Path| path.parent().and_then(|parent| parent.canonicalize().ok());
    folder == ours || (folder.file_name() == ours.file_name() && real_parent(folder) == real_parent(&ours))
}

/// Python's torch, without importing it (an import takes seconds and may fail for other reasons).
///
/// # Errors
/// Why it cannot be used, as a line of the list of places that were looked at.
pub fn python_torch() -> Result<Libtorch, String> {
    const ASK: &str = "import importlib.util as u; s = u.find_spec('torch'); print(s.origin if s and s.origin else '')";
    // Not in the current folder: a folder `torch` there is no package.
    let output = Command::new("python3").args(["-c", ASK]).current_dir("/").output();
    let Ok(output) = output else { return Err("Python: no python3".to_owned()) };
    let origin = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let Some(folder) = Path::new(&origin).parent().filter(|_| output.status.success() && !origin.is_empty()) else {
        return Err("Python: no torch".to_owned());
    };
    match version::of_folder(folder) {
        Some(found) if version::agrees(&found) => {
            Libtorch::in_folder(folder, format!("Python's torch, {}", folder.display()))
                .map_err(|why| format!("Python: {why}"))
        }
        found => {
            Err(format!("Python: its torch is {}, not {WANTED}", found.as_deref().unwrap_or("of no known version")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that looks like a libtorch of the given version.
    pub fn fake_libtorch(folder: &Path, version: &str) {
        fs::create_dir_all(folder.join("include/torch/csrc/api/include/torch")).unwrap();
        fs::create_dir_all(folder.join("lib")).unwrap();
        fs::write(folder.join("include/torch/csrc/api/include/torch/torch.h"), "").unwrap();
        for name in [
            "libc10.so",
            "libtorch_cpu.so",
            "libgomp.so.1",
            "libtorch.so",
            "libtorch_cuda.so",
            "libtorch_cuda_linalg.so",
        ] {
            fs::write(folder.join("lib").join(name), "").unwrap();
        }
        fs::write(folder.join("build-version"), format!("{version}\n")).unwrap();
    }

    fn names(libtorch: &Libtorch) -> Vec<String> {
        libtorch.libraries.iter().map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_libtorch_of_the_right_version_serves_without_its_cuda() {
        let folder = tempfile::tempdir().unwrap();
        fake_libtorch(folder.path(), "2.11.0+cu130");
        let libtorch = Libtorch::in_folder(folder.path(), "test".into()).unwrap();
        assert_eq!(names(&libtorch), ["libc10.so", "libgomp.so.1", "libtorch_cpu.so"]);
    }

    #[test]
    fn another_version_is_refused_and_both_are_named() {
        let folder = tempfile::tempdir().unwrap();
        fake_libtorch(folder.path(), "2.5.1");
        let error = Libtorch::in_folder(folder.path(), "LIBTORCH=x".into()).unwrap_err();
        let shown = folder.path().display();
        assert_eq!(
            error.to_string(),
            format!("{shown} holds libtorch 2.5.1, but tch 0.24.0 needs 2.11.0 (LIBTORCH=x)")
        );
    }

    #[test]
    fn a_folder_that_says_no_version_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fake_libtorch(folder.path(), "2.11.0");
        fs::remove_file(folder.path().join("build-version")).unwrap();
        let error = Libtorch::in_folder(folder.path(), "LIBTORCH=x".into()).unwrap_err().to_string();
        assert!(error.contains("does not say which libtorch it holds (no build-version, no version.py)"), "{error}");
    }

    #[test]
    fn a_folder_without_headers_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fake_libtorch(folder.path(), "2.11.0");
        fs::remove_dir_all(folder.path().join("include")).unwrap();
        let error = Libtorch::in_folder(folder.path(), "LIBTORCH=x".into()).unwrap_err().to_string();
        assert!(error.contains("is not complete: it has no include/torch/csrc/api/include/torch/torch.h"), "{error}");
    }

    #[test]
    fn a_python_torch_brings_the_cuda_runtime_from_the_package_beside_it() {
        let site = tempfile::tempdir().unwrap();
        let torch = site.path().join("torch");
        fake_libtorch(&torch, "2.11.0");
        let cuda = site.path().join("nvidia/cu13/lib");
        fs::create_dir_all(&cuda).unwrap();
        for name in ["libcudart.so.13", "libcupti.so.13", "libcublas.so.13"] {
            fs::write(cuda.join(name), "").unwrap();
        }
        let libtorch = Libtorch::in_folder(&torch, "test".into()).unwrap();
        assert_eq!(names(&libtorch)[3..], ["libcudart.so.13", "libcupti.so.13"]);
    }

    #[test]
    fn the_folder_that_cargo_sets_is_not_the_users() {
        let root = tempfile::tempdir().unwrap();
        let workspace = Workspace::at(root.path());
        let own = |value: &Path| users_own(&workspace, Some(value.as_os_str().to_owned())).unwrap();
        assert_eq!(users_own(&workspace, None).unwrap(), None);
        assert_eq!(users_own(&workspace, Some("".into())).unwrap(), None);
        assert_eq!(own(&root.path().join(".libtorch")), None);
        assert_eq!(own(&root.path().join(".").join(".libtorch")), None);
        assert_eq!(own(Path::new("/opt/libtorch")), Some(PathBuf::from("/opt/libtorch")));
    }
}
