//! What a virtual machine starts with: Debian's kernel, and an archive of the files that its first process needs.
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::debian::Archive;
use crate::progress::Progress;

const INIT: &str = include_str!("init.sh");
/// What a user can do whose machine has no Debian packages.
pub const NEXT: &str = "this check needs Debian's packages; it is no part of `cargo xtask test`";
/// Modules that make the shared files visible, each behind those that it needs. A kernel has some of them built in.
const MODULES: [&str; 11] = [
    "virtio",
    "virtio_ring",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "netfs",
    "fscache",
    "9pnet",
    "9p",
    "9pnet_virtio",
    "overlay",
];

/// What is given to qemu.
#[derive(Debug)]
pub struct Image {
    /// The kernel.
    pub kernel: PathBuf,
    /// The archive with the first files.
    pub files: PathBuf,
}

/// Fetches the kernel of this package and puts the archive together, in a folder of `scratch`.
///
/// # Errors
/// When a package cannot be fetched, and when it has not what is looked for in it.
pub fn make(debian: &Archive, package: &str, scratch: &Path) -> Result<Image> {
    let scratch = &scratch.join(format!("boot-{package}"));
    fs::create_dir_all(scratch).context("cannot make a folder")?;
    let unpacked = debian.unpack(package, scratch)?;
    let busybox = busybox_in(&debian.unpack("busybox-static", scratch)?)?;
    let progress = Progress::open(format!("the first files for {package}"));
    let root = scratch.join("first");
    for folder in ["bin", "modules"] {
        fs::create_dir_all(root.join(folder)).context("cannot make a folder")?;
    }
    fs::copy(&busybox, root.join("bin/busybox")).with_context(|| format!("no {}", busybox.display()))?;
    let mut order = String::new();
    let present = files(&unpacked);
    for name in MODULES {
        let is_it = |path: &&PathBuf| module(path) == Some(name);
        let Some(path) = present.iter().find(is_it) else { continue };
        fs::write(root.join("modules").join(name), plain(path)?).context("cannot write a module")?;
        order.push_str(&format!("{name}\n"));
    }
    fs::write(root.join("modules/order"), order).context("cannot write a file")?;
    let init = root.join("init");
    fs::write(&init, INIT).context("cannot write a file")?;
    ensure!(
        Command::new("chmod").arg("+x").arg(&init).status().is_ok_and(|status| status.success()),
        "cannot make {} a program",
        init.display()
    );
    let files = scratch.join("first.cpio");
    // The machine's own busybox may not run here.
    let packer = busybox_in(&Archive::of_this_machine(NEXT).unpack("busybox-static", &scratch.join("packer"))?)?;
    archive(&root, &packer, &files)?;
    let starts = |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-"));
    let kernel = present.iter().find(starts).with_context(|| format!("{package} has no kernel"))?.clone();
    progress.done("");
    Ok(Image { kernel, files })
}

/// The program among the files of its package.
fn busybox_in(unpacked: &Path) -> Result<PathBuf> {
    let places = ["bin/busybox", "usr/bin/busybox"].map(|place| unpacked.join(place));
    places.into_iter().find(|path| path.exists()).context("busybox-static has no busybox")
}

/// All files below `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => found.push(entry.path()),
                _ => {}
            }
        }
    }
    found
}

/// The module's name, when the file is one: `9p` of `9p.ko` and of `9p.ko.xz`.
fn module(path: &Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    name.strip_suffix(".ko").or_else(|| name.strip_suffix(".ko.xz"))
}

/// The module as the kernel takes it; newer kernels of Debian's have them packed.
fn plain(path: &Path) -> Result<Vec<u8>> {
    if path.extension().is_none_or(|extension| extension != "xz") {
        return fs::read(path).with_context(|| format!("{} cannot be read", path.display()));
    }
    let unpacked = Command::new("xz").arg("-dc").arg(path).output().context("cannot start xz")?;
    ensure!(unpacked.status.success(), "xz cannot unpack {}", path.display());
    Ok(unpacked.stdout)
}

/// Packs the folder `root` in the kernel's format, with busybox's own cpio.
fn archive(root: &Path, busybox: &Path, to: &Path) -> Result<()> {
    let mut names = vec!["bin".to_owned(), "modules".to_owned()];
    let below = files(root).into_iter().filter_map(|path| Some(path.strip_prefix(root).ok()?.display().to_string()));
    names.extend(below);
    let list = to.with_extension("list");
    fs::write(&list, names.join("\n") + "\n").context("cannot write a file")?;
    let (list, archive) = (fs::File::open(&list)?, fs::File::create(to)?);
    let mut cpio = Command::new(busybox);
    cpio.args(["cpio", "-o", "-H", "newc"]).current_dir(root).stdin(list).stdout(archive).stderr(Stdio::null());
    ensure!(cpio.status().context("cannot start busybox")?.success(), "busybox cpio failed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_has_its_files_name() {
        assert_eq!(module(Path::new("/m/9pnet_virtio.ko")), Some("9pnet_virtio"));
        assert_eq!(module(Path::new("/m/9p.ko.xz")), Some("9p"));
        assert_eq!(module(Path::new("/m/modules.dep")), None);
    }
}
