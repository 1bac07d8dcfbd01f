//! Compiles the shim against the libtorch that torch-sys was built with.
use std::env;
use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=shim");
    println!("cargo:rerun-if-env-changed=LIBTORCH");
    // torch-sys says where its libtorch lies to the crates that depend on it directly.
    let lib = env::var("DEP_TCH_LIBTORCH_LIB").expect(
        "torch-sys gave no libtorch folder: run `cargo xtask libtorch`, or set LIBTORCH to a libtorch 2.11.0 folder",
    );
    let lib = PathBuf::from(lib);
    let include = lib.parent().unwrap_or(&lib).join("include");
    cc::Build::new()
        .cpp(true)
        .file("shim/hooks.cpp")
        .file("shim/devices.cpp")
        .include(&include)
        .include(include.join("torch/csrc/api/include"))
        .std("c++17")
        .define("_GLIBCXX_USE_CXX11_ABI", "1")
        // libtorch is built so; a class of ATen/record_function.h has one member more without it.
        .define("NDEBUG", None)
        .warnings(false)
        .flag_if_supported("-Wno-deprecated-declarations")
        .compile("alloc_torch_shim");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", lib.display());
}
