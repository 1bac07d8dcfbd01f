//! The packages of the Python index that hold a libtorch, pinned by file name and SHA-256.
//!
//! Wheels are made for one Python version each; the C++ libraries inside are the same. One version is fixed here, so that
//! the file and its hash are the same whatever Python a user has.

use anyhow::Result;

use crate::user_error::UserError;

/// The Python whose wheel is asked for.
pub const PYTHON: &str = "3.11";

/// One package file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wheel {
    /// What pip is asked for.
    pub requirement: &'static str,
    /// The platform that pip is told to fetch for.
    pub platform: &'static str,
    /// The file that must come.
    pub file: &'static str,
    /// Its hash.
    pub sha256: &'static str,
    /// Its size.
    pub bytes: u64,
    /// The libraries in it that `libtorch_cpu.so` needs; torch's headers are taken as well.
    pub libraries: &'static [&'static str],
}

const TORCH: &str = "torch==2.11.0";
const CUDART: &str = "nvidia-cuda-runtime==13.0.96";
const CUPTI: &str = "nvidia-cuda-cupti==13.0.85";

const X86_64: [Wheel; 3] = [
    Wheel {
        requirement: TORCH,
        platform: "manylinux_2_28_x86_64",
        file: "torch-2.11.0-cp311-cp311-manylinux_2_28_x86_64.whl",
        sha256: "7aa2f9bbc6d4595ba72138026b2074be1233186150e9292865e04b7a63b8c67a",
        bytes: 530_604_548,
        libraries: &["torch/lib/libc10.so", "torch/lib/libtorch_cpu.so", "torch/lib/libgomp.so.1"],
    },
    Wheel {
        requirement: CUDART,
        platform: "manylinux_2_17_x86_64",
        file: "nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        sha256: "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
        bytes: 2_243_632,
        libraries: &["nvidia/cu13/lib/libcudart.so.13"],
    },
    Wheel {
        requirement: CUPTI,
        platform: "manylinux_2_25_x86_64",
        file: "nvidia_cuda_cupti-13.0.85-py3-none-manylinux_2_25_x86_64.whl",
        sha256: "4eb01c08e859bf924d222250d2e8f8b8ff6d3db4721288cf35d14252a4d933c8",
        bytes: 10_715_597,
        libraries: &["nvidia/cu13/lib/libcupti.so.13"],
    },
];

const AARCH64: [Wheel; 3] = [
    Wheel {
        requirement: TORCH,
        platform: "manylinux_2_28_aarch64",
        file: "torch-2.11.0-cp311-cp311-manylinux_2_28_aarch64.whl",
        sha256: "d91aac77f24082809d2c5a93f52a5f085032740a1ebc9252a7b052ef5a4fddc6",
        bytes: 419_718_178,
        // On ARM the linear algebra is in libraries of its own.
        libraries: &[
            "torch/lib/libc10.so",
            "torch/lib/libtorch_cpu.so",
            "torch/lib/libgomp.so.1",
            "torch/lib/libgfortran.so.5",
            "torch/lib/libarm_compute.so",
            "torch/lib/libarm_compute_graph.so",
            "torch/lib/libnvpl_blas_core.so.0",
            "torch/lib/libnvpl_blas_lp64_gomp.so.0",
            "torch/lib/libnvpl_lapack_core.so.0",
            "torch/lib/libnvpl_lapack_lp64_gomp.so.0",
        ],
    },
    Wheel {
        requirement: CUDART,
        platform: "manylinux_2_17_aarch64",
        file: "nvidia_cuda_runtime-13.0.96-py3-none-manylinux2014_aarch64.manylinux_2_17_aarch64.whl",
        sha256: "ef9bcbe90493a2b9d810e43d249adb3d02e98dd30200d86607d8d02687c43f55",
        bytes: 2_261_060,
        libraries: &["nvidia/cu13/lib/libcudart.so.13"],
    },
    Wheel {
        requirement: CUPTI,
        platform: "manylinux_2_25_aarch64",
        file: "nvidia_cuda_cupti-13.0.85-py3-none-manylinux_2_25_aarch64.whl",
        sha256: "796bd679890ee55fb14a94629b698b6db54bcfd833d391d5e94017dd9d7d3151",
        bytes: 10_310_827,
        libraries: &["nvidia/cu13/lib/libcupti.so.13"],
    },
];

/// The packages for the machine this runs on.
pub fn for_this_machine() -> Result<&'static [Wheel]> {
    for_machine(std::env::consts::OS, std::env::consts::ARCH)
}

fn for_machine(os: &str, arch: &str) -> Result<&'static [Wheel]> {
    match (os, arch) {
        ("linux", "x86_64") => Ok(&X86_64),
        ("linux", "aarch64") => Ok(&AARCH64),
        _ => {
            let what =
                format!("no libtorch package is known for {os} on {arch} (known: linux on x86_64, linux on aarch64)");
            Err(UserError::new(what, "set LIBTORCH to a folder with libtorch 2.11.0 for this machine").into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_names_the_machine_it_is_for() {
        for arch in ["x86_64", "aarch64"] {
            let wheels = for_machine("linux", arch).unwrap();
            assert_eq!(wheels.len(), 3);
            for wheel in wheels {
                assert!(wheel.file.contains(wheel.platform) && wheel.platform.ends_with(arch), "{}", wheel.file);
                assert_eq!(wheel.sha256.len(), 64);
            }
        }
    }

    #[test]
    fn an_unknown_machine_is_told_which_are_known() {
        let error = for_machine("linux", "riscv64").unwrap_err();
        let expected = "no libtorch package is known for linux on riscv64 (known: linux on x86_64, linux on aarch64)";
        assert_eq!(error.to_string(), expected);
    }
}
