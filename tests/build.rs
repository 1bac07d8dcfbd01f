//! Has the debug sections of the victims and workloads compressed. There are more than a hundred of these programs, each with all of the
//! tracker in it: 41 MB with plain sections and 15 with compressed ones, and a clean build has to fit onto the disk of a CI machine.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo::rustc-link-arg-bins=-Wl,--compress-debug-sections=zlib");
    }
}
