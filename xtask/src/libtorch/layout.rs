//! `.libtorch/` as torch-sys and the linker want it: links, so that it costs nothing, made whole before it gets its name.
//!
//! ```text
//!  include        -> the headers
//!  lib/*.so*      -> the libraries, and libgomp.so for a linker without GCC's own
//!  lib/libtorch.so   one line of linker script: the real one only lists others, CUDA among them
//!  build-version     2.11.0, which torch-sys checks
//!  origin            where it comes from, for people and for the next run
//! ```

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::cache;
use super::candidate::Libtorch;
use super::version::{self, WANTED};
use crate::user_error::UserError;

/// Whether `.libtorch` can be used as it is.
pub fn is_good(place: &Path) -> bool {
    let whole =
        ["include/torch/csrc/api/include/torch/torch.h", "lib/libtorch.so", "lib/libtorch_cpu.so", "lib/libc10.so"]
            .iter()
            .all(|needed| place.join(needed).exists());
    whole
        && version::of_folder(place).is_some_and(|found| version::agrees(&found))
        && still_agrees(place)
        && cached_copy_is_whole(place)
}

/// Where the headers are really: the links lead there.
fn linked(place: &Path) -> Option<PathBuf> {
    Some(place.join("include").canonicalize().ok()?.parent()?.to_owned())
}

/// Whether the folder that the links lead to still says the wanted version, if it says one: a Python's torch may have been upgraded.
fn still_agrees(place: &Path) -> bool {
    linked(place).and_then(|folder| version::of_folder(&folder)).is_none_or(|found| version::agrees(&found))
}

/// A layout over a cached copy is as good as the copy: the stamp is read again each time (20 ms for 10,000 files).
fn cached_copy_is_whole(place: &Path) -> bool {
    linked(place).is_some_and(|copy| !origin(place).starts_with(cache::ORIGIN) || cache::check(&copy).is_ok())
}

/// Where the layout comes from, as it is shown to the user.
pub fn origin(place: &Path) -> String {
    let text = fs::read_to_string(place.join("origin")).ok();
    text.map_or_else(|| "put there by hand".to_owned(), |text| text.trim_end().to_owned())
}

/// Lays out `libtorch` at `place`, in a folder beside it first.
pub fn make(place: &Path, libtorch: &Libtorch) -> Result<()> {
    try_out(place, libtorch)?;
    let (fresh, old) = (beside(place, "new"), beside(place, "old"));
    remove(&old)?;
    if place.symlink_metadata().is_ok() {
        fs::rename(place, &old).with_context(|| format!("cannot rename {}", place.display()))?;
    }
    fs::rename(&fresh, place).with_context(|| format!("cannot rename {}", fresh.display()))?;
    remove(&old)
}

/// Lays out `libtorch` beside `place` and asks the loader whether it loads. If it does not, nothing is left.
pub fn try_out(place: &Path, libtorch: &Libtorch) -> Result<()> {
    let fresh = beside(place, "new");
    remove(&fresh)?;
    fill(&fresh, libtorch).with_context(|| format!("cannot lay out {}", fresh.display()))?;
    if let Err(error) = loads(&fresh) {
        remove(&fresh)?;
        return Err(error);
    }
    Ok(())
}

fn beside(place: &Path, word: &str) -> PathBuf {
    place.with_file_name(format!(".libtorch-{word}"))
}

fn fill(folder: &Path, libtorch: &Libtorch) -> Result<()> {
    let lib = folder.join("lib");
    fs::create_dir_all(&lib)?;
    let real = |path: &Path| path.canonicalize().with_context(|| format!("cannot find {}", path.display()));
    symlink(real(&libtorch.include)?, folder.join("include"))?;
    for library in &libtorch.libraries {
        let name = library.file_name().context("a library has a name")?;
        symlink(real(library)?, lib.join(name))?;
        if name == "libgomp.so.1" {
            symlink(name, lib.join("libgomp.so"))?;
        }
    }
    fs::write(lib.join("libtorch.so"), "INPUT(-ltorch_cpu)\n")?;
    fs::write(folder.join("origin"), format!("{}\n", libtorch.origin))?;
    version::write(folder)
}

/// Asks the loader whether `libtorch_cpu.so` finds all that it needs. Without `ldd`, the first run will tell.
fn loads(folder: &Path) -> Result<()> {
    let lib = folder.join("lib");
    let Ok(output) = Command::new("ldd").arg(lib.join("libtorch_cpu.so")).env("LD_LIBRARY_PATH", &lib).output() else {
        return Ok(());
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    let missing = not_found(&text);
    if missing.is_empty() {
        return Ok(());
    }
    let what = format!(
        "libtorch_cpu.so {WANTED} cannot be loaded: it needs what is not found:\n    {}",
        missing.join("\n    ")
    );
    let next = "install the named libraries (a `version` that is not found means that this system's glibc or libstdc++ is \
                older than the package needs: glibc 2.28), or set LIBTORCH to a libtorch 2.11.0 made for this system";
    Err(UserError::new(what, next).into())
}

/// The lines of `ldd` that say what is missing.
fn not_found(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.contains("not found")).map(str::trim).collect()
}

/// Removes a link, a folder or nothing; never what a link points at.
fn remove(path: &Path) -> Result<()> {
    let Ok(data) = path.symlink_metadata() else { return Ok(()) };
    let removed = if data.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.with_context(|| format!("cannot remove {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A libtorch of empty files in `folder`.
    fn fake_libtorch(folder: &Path) -> Libtorch {
        fs::create_dir_all(folder.join("include/torch/csrc/api/include/torch")).unwrap();
        fs::create_dir_all(folder.join("lib")).unwrap();
        fs::write(folder.join("include/torch/csrc/api/include/torch/torch.h"), "").unwrap();
        let names = ["libc10.so", "libgomp.so.1", "libtorch_cpu.so"];
        let libraries = names.map(|name| folder.join("lib").join(name)).to_vec();
        for library in &libraries {
            fs::write(library, "").unwrap();
        }
        Libtorch { include: folder.join("include"), libraries, origin: "test".into() }
    }

    #[test]
    fn the_layout_is_what_torch_sys_wants_and_replaces_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let libtorch = fake_libtorch(&folder.path().join("given"));
        let place = folder.path().join(".libtorch");
        symlink("/nowhere", &place).unwrap();
        assert!(!is_good(&place));
        make(&place, &libtorch).unwrap();
        assert!(is_good(&place));
        assert!(place.symlink_metadata().unwrap().is_dir());
        assert_eq!(fs::read_to_string(place.join("lib/libtorch.so")).unwrap(), "INPUT(-ltorch_cpu)\n");
        assert_eq!(fs::read_to_string(place.join("build-version")).unwrap(), "2.11.0\n");
        assert_eq!(fs::read_link(place.join("lib/libgomp.so")).unwrap(), Path::new("libgomp.so.1"));
        assert_eq!(origin(&place), "test");
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".libtorch", "given"]);
    }

    #[test]
    fn making_it_again_never_touches_what_the_links_point_at() {
        let folder = tempfile::tempdir().unwrap();
        let libtorch = fake_libtorch(&folder.path().join("given"));
        let place = folder.path().join(".libtorch");
        make(&place, &libtorch).unwrap();
        make(&place, &libtorch).unwrap();
        assert!(is_good(&place));
        assert!(libtorch.include.join("torch/csrc/api/include/torch/torch.h").exists());
    }

    #[test]
    fn a_layout_over_a_cached_copy_without_a_stamp_is_not_good() {
        let folder = tempfile::tempdir().unwrap();
        let copy = folder.path().join("libtorch-2.11.0-x86_64");
        let place = folder.path().join(".libtorch");
        make(&place, &Libtorch { origin: format!("{}, x", cache::ORIGIN), ..fake_libtorch(&copy) }).unwrap();
        assert!(!is_good(&place));
        fs::write(copy.join("stamp"), "0 lib/libc10.so\n").unwrap();
        assert!(is_good(&place));
    }

    #[test]
    fn a_layout_that_says_another_version_is_not_good() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join(".libtorch");
        make(&place, &fake_libtorch(&folder.path().join("given"))).unwrap();
        fs::write(place.join("build-version"), "2.5.1").unwrap();
        assert!(!is_good(&place));
    }

    #[test]
    fn what_ldd_does_not_find_is_read_from_its_lines() {
        let text =
            "\tlibc10.so => /x/libc10.so (0x1)\n\tlibcupti.so.13 => not found\n\tlibc.so.6 => /lib/libc.so.6 (0x2)\n";
        assert_eq!(not_found(text), ["libcupti.so.13 => not found"]);
    }
}
