//! Compiles the shim over libtorch, and writes the way to libtorch into the binaries of this package, so that they start
//! without LD_LIBRARY_PATH.
//!
//! Two entries: the folder that torch-sys linked against, and `.libtorch/lib` as seen from `target/release/`, which
//! still holds after the whole checkout has moved. They are DT_RPATH, not DT_RUNPATH: only the former is also
//! searched for the libraries that libtorch itself needs.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=shim");
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    // Set by torch-sys, whose `links` key is "tch"; it reaches only crates that depend on torch-sys directly.
    println!("cargo:rerun-if-env-changed=DEP_TCH_LIBTORCH_LIB");
    if let Ok(folder) = std::env::var("DEP_TCH_LIBTORCH_LIB") {
        compile_shim(Path::new(&folder));
    }
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return;
    }
    println!("cargo:rustc-link-arg=-Wl,--disable-new-dtags");
    if let Ok(folder) = std::env::var("DEP_TCH_LIBTORCH_LIB") {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
    }
    // Binaries lie in target/release/, examples and tests one folder deeper.
    println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN/../../.libtorch/lib");
    println!("cargo:rustc-link-arg=-Wl,-rpath,$ORIGIN/../../../.libtorch/lib");
}

/// Against the headers that belong to the libtorch in `folder`.
fn compile_shim(folder: &Path) {
    cc::Build::new()
        .cpp(true)
        .file("shim/autocast.cpp")
        .file("shim/checkpoint.cpp")
        .file("shim/leaky_relu.cpp")
        .file("shim/unscale.cpp")
        .include(folder.parent().unwrap_or(folder).join("include"))
        .std("c++17")
        .define("_GLIBCXX_USE_CXX11_ABI", "1")
        .define("NDEBUG", None)
        .warnings(false)
        .compile("trainer_shim");
}
