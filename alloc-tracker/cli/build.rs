//! Tells the compiler where cargo puts the shared library of `alloc-preload`, of which the binary has a copy.
use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR for build scripts");
    // target/PROFILE/build/PACKAGE-HASH/out
    let profile = Path::new(&out).ancestors().nth(3).expect("cargo's own folders");
    println!("cargo:rustc-env=PRELOAD_LIBRARY={}", profile.join("deps/liballoc_preload.so").display());
}
