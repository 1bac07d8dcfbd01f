//! The device that a network runs on: what is typed, and how this binary, linked with libtorch for CPUs, comes to a GPU.
//!
//! libtorch's part for CUDA is a library of its own, which announces itself to the rest when it is loaded. It must be there
//! before libtorch is first asked about CUDA, because that answer is kept.
use std::ffi::{CStr, CString};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail, ensure};

const LIBRARY: &str = "libtorch_cuda.so";

/// A device as it is typed: `cpu`, `cuda:0`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceName {
    /// The processor and the host's memory.
    #[default]
    Cpu,
    /// The GPU of this number.
    Cuda(usize),
}

impl FromStr for DeviceName {
    type Err = String;

    fn from_str(typed: &str) -> Result<DeviceName, String> {
        let wrong = || format!("{typed} is no device; give cpu, or cuda:0 for the first GPU");
        match typed.split_once(':') {
            None if typed == "cpu" => Ok(DeviceName::Cpu),
            None if typed == "cuda" => Ok(DeviceName::Cuda(0)),
            Some(("cuda", number)) => number.parse().map(DeviceName::Cuda).map_err(|_| wrong()),
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DeviceName::Cpu => f.write_str("cpu"),
            DeviceName::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

impl From<DeviceName> for tch::Device {
    fn from(name: DeviceName) -> tch::Device {
        match name {
            DeviceName::Cpu => tch::Device::Cpu,
            DeviceName::Cuda(number) => tch::Device::Cuda(number),
        }
    }
}

impl DeviceName {
    /// Makes libtorch ready for the device. To be called before libtorch is used for anything else.
    ///
    /// # Errors
    /// When there is no such device, or libtorch's part for it cannot be loaded.
    pub fn make_ready(self) -> Result<()> {
        let DeviceName::Cuda(number) = self else { return Ok(()) };
        load_cuda(self)?;
        ensure!(
            tch::Cuda::is_available(),
            "--device {self}: libtorch is loaded with CUDA and finds no GPU; see whether nvidia-smi lists one and its \
             driver is new enough, or give --device cpu"
        );
        let there = tch::Cuda::device_count();
        ensure!(
            (number as i64) < there,
            "--device {self}: this machine's GPUs are cuda:0 to cuda:{}; give one of them",
            there - 1
        );
        Ok(())
    }

    /// Waits until the device has done all that it was asked to.
    pub fn synchronize(self) {
        if let DeviceName::Cuda(number) = self {
            tch::Cuda::synchronize(number as i64);
        }
    }
}

/// Loads libtorch's part for CUDA: from beside its other parts, or else from where the loader looks.
fn load_cuda(device: DeviceName) -> Result<()> {
    let folder = libtorch_folder();
    let beside = folder.as_ref().map(|folder| folder.join(LIBRARY)).filter(|path| path.exists());
    let Err(reason) = load(beside.as_deref().unwrap_or(Path::new(LIBRARY))) else { return Ok(()) };
    match (beside, folder) {
        (Some(path), _) => bail!(
            "--device {device}: {} cannot be loaded: {reason}; install the NVIDIA packages of the same PyTorch, or give \
             --device cpu",
            path.display()
        ),
        (None, folder) => bail!(
            "--device {device}: {LIBRARY} is not there ({} has libtorch for CPUs alone): {reason}; on a machine with a \
             GPU build with LIBTORCH set to a libtorch 2.11.0 for CUDA, or give --device cpu",
            folder.as_deref().unwrap_or(Path::new("libtorch's folder")).display()
        ),
    }
}

/// The folder of the libtorch that this process runs with, as the kernel knows it.
fn libtorch_folder() -> Option<PathBuf> {
    let maps = procfs::process::Process::myself().ok()?.maps().ok()?;
    maps.into_iter().find_map(|map| match map.pathname {
        procfs::process::MMapPath::Path(path) if path.ends_with("libtorch_cpu.so") => path.parent().map(Path::to_owned),
        _ => None,
    })
}

/// Loads a library for the rest of the process's life, its symbols for all. The error is the loader's own words.
fn load(library: &Path) -> Result<(), String> {
    let name = CString::new(library.as_os_str().as_bytes()).map_err(|error| error.to_string())?;
    // SAFETY: the name ends with 0. The library's initialisers run, as those of libtorch have when this program started.
    if !unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) }.is_null() {
        return Ok(());
    }
    // SAFETY: what it returns is null or a text that stays until this thread's next call of the loader.
    let text = unsafe {
        let text = libc::dlerror();
        (!text.is_null()).then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
    };
    Err(text.unwrap_or_else(|| "the loader gives no reason".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_typed_as_pytorch_writes_them() {
        for (typed, expected) in
            [("cpu", DeviceName::Cpu), ("cuda", DeviceName::Cuda(0)), ("cuda:3", DeviceName::Cuda(3))]
        {
            assert_eq!(typed.parse(), Ok(expected));
        }
        assert_eq!(DeviceName::Cuda(3).to_string(), "cuda:3");
        for typed in ["", "gpu", "cuda:", "cuda:-1", "cuda:0:1", "cpu:0"] {
            let problem = typed.parse::<DeviceName>().expect_err(typed);
            assert!(problem.contains("give cpu, or cuda:0"), "{problem}");
        }
    }

    #[test]
    fn a_library_that_is_not_there_is_named_by_the_loader() {
        let reason = load(Path::new("libthis-is-nowhere.so")).expect_err("not there");
        assert!(reason.contains("libthis-is-nowhere.so"), "{reason}");
    }

    #[test]
    fn libtorch_is_found_where_it_is_mapped() {
        assert_eq!(tch::Tensor::from_slice(&[1i64]).size(), [1], "libtorch is there");
        let folder = libtorch_folder().expect("mapped");
        assert!(folder.join("libtorch_cpu.so").exists(), "{}", folder.display());
    }
}
