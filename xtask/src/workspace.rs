//! Where the checkout lies, and how its own cargo is called.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::prerequisite;

/// Variables that make torch-sys use another libtorch than the one in `.libtorch/`; they are removed for our builds.
const TORCH_SYS_SETTINGS: [&str; 4] = ["LIBTORCH_USE_PYTORCH", "LIBTORCH_INCLUDE", "LIBTORCH_LIB", "LIBTORCH_STATIC"];

/// The checkout.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The checkout that this program belongs to. Cargo names it in a variable; without cargo it is the path at build time.
    pub fn find() -> Result<Self> {
        let package =
            env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
        let root = package.parent().context("the xtask package has no folder above it")?;
        Ok(Self { root: root.to_path_buf() })
    }

    /// A checkout at a given place, for tests.
    #[cfg(test)]
    pub fn at(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    /// The folder that holds the workspace's `Cargo.toml`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where libtorch is laid out; `.cargo/config.toml` points plain cargo at the same folder.
    pub fn libtorch(&self) -> PathBuf {
        self.root.join(".libtorch")
    }

    /// `path` as a reader would type it from the root.
    pub fn short<'a>(&self, path: &'a Path) -> std::path::Display<'a> {
        path.strip_prefix(&self.root).unwrap_or(path).display()
    }

    /// A cargo that builds this workspace exactly as a plain `cargo` in it would, so that the two share their outputs.
    pub fn cargo(&self) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
        cargo.current_dir(&self.root).env("LIBTORCH", self.libtorch());
        for name in TORCH_SYS_SETTINGS {
            cargo.env_remove(name);
        }
        // `cargo run` describes the xtask package to us in these; a nested build script would take it for its own.
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") || text == "CARGO_BIN_NAME" {
                cargo.env_remove(&name);
            }
        }
        if let Some(compiler) = prerequisite::unusual_cxx() {
            cargo.env("CXX", compiler);
        }
        cargo
    }
}
