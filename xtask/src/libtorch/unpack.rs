//! From a wheel (a zip file), only what a C++ program needs: torch's headers and a handful of libraries.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use zip::ZipArchive;

/// Unpacks `wheel` into `folder`: `torch/include/*` to `include/`, the named libraries to `lib/`.
pub fn wheel(wheel: &Path, libraries: &[&str], folder: &Path) -> Result<()> {
    let shown = wheel.display();
    let file = File::open(wheel).with_context(|| format!("cannot open {shown}"))?;
    let mut archive =
        ZipArchive::new(BufReader::new(file)).with_context(|| format!("cannot read {shown} as a wheel"))?;
    let mut missing: BTreeSet<&str> = libraries.iter().copied().collect();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).with_context(|| format!("cannot read {shown}"))?;
        let name = entry.name().with_context(|| format!("cannot read {shown}"))?.into_owned();
        let Some(below) = place(&name, libraries) else { continue };
        let path = folder.join(below);
        let parent = path.parent().expect("it lies below the folder");
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        let mut out = File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        io::copy(&mut entry, &mut out).with_context(|| format!("cannot unpack {}", path.display()))?;
        missing.remove(name.as_str());
    }
    if !missing.is_empty() {
        bail!("{shown} has no {}", Vec::from_iter(missing).join(", "));
    }
    Ok(())
}

/// Where a file of the wheel goes, if anywhere. A name that would climb out of the folder goes nowhere.
fn place(name: &str, libraries: &[&str]) -> Option<PathBuf> {
    if name.ends_with('/') || name.split('/').any(|part| part.is_empty() || part == "..") {
        return None;
    }
    if let Some(header) = name.strip_prefix("torch/include/") {
        return Some(Path::new("include").join(header));
    }
    libraries.contains(&name).then(|| Path::new("lib").join(name.rsplit('/').next().unwrap_or(name)))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn fake_libtorch(path: &Path, files: &[&str]) {
        let mut zip = zip::ZipWriter::new(File::create(path).unwrap());
        for name in files {
            zip.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(name.as_bytes()).unwrap();
        }
        zip.finish().unwrap();
    }

    #[test]
    fn headers_and_named_libraries_come_out_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.whl");
        fake_libtorch(
            &file,
            &["torch/include/c10/a.h", "torch/lib/libc10.so", "torch/lib/libtorch_cuda.so", "torch/__init__.py"],
        );
        let out = folder.path().join("out");
        wheel(&file, &["torch/lib/libc10.so"], &out).unwrap();
        assert_eq!(fs::read_to_string(out.join("include/c10/a.h")).unwrap(), "torch/include/c10/a.h");
        assert_eq!(fs::read_to_string(out.join("lib/libc10.so")).unwrap(), "torch/lib/libc10.so");
        assert_eq!(fs::read_dir(out.join("lib")).unwrap().count(), 1);
        assert_eq!(fs::read_dir(&out).unwrap().count(), 2);
    }

    #[test]
    fn a_library_that_is_not_in_the_wheel_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.whl");
        fake_libtorch(&file, &["torch/include/c10/a.h"]);
        let error = wheel(&file, &["torch/lib/libc10.so"], folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("a.whl has no torch/lib/libc10.so"), "{error}");
    }

    #[test]
    fn a_name_that_climbs_out_goes_nowhere() {
        assert_eq!(place("torch/include/../../../etc/passwd", &[]), None);
        assert_eq!(place("torch/include//etc/passwd", &[]), None);
    }

    #[test]
    fn a_file_that_is_no_wheel_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.whl");
        fs::write(&file, "not a zip").unwrap();
        assert!(wheel(&file, &[], folder.path()).unwrap_err().to_string().ends_with("as a wheel"));
    }
}
