//! The package `alloc_tracker` as it lies in the workspace, and as pip installs it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::interpreter::command;
use crate::workspace::Workspace;

/// Where the package lies in the workspace.
pub const PACKAGE: &str = "alloc-tracker/python";
/// The package's name.
const NAME: &str = "alloc_tracker";

/// The package's files, as paths that begin with its name, in order. `above` is the folder that it lies in. What Python has compiled is
/// not among them.
///
/// # Errors
/// When a folder cannot be read.
pub fn modules(above: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![above.join(NAME)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))? {
            let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
            if path.is_dir() {
                folders.extend((!path.ends_with("__pycache__")).then_some(path));
            } else {
                let below = path.strip_prefix(above).context("it was found below it")?;
                found.push(below.to_str().context("a module has a name in UTF-8")?.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Copies the package into `folder` and has `python` compile it, as pip does with what it installs. A package that is not compiled is
/// compiled by each program that imports it, where Python may not write.
///
/// # Errors
/// When it cannot be copied or compiled.
pub fn install(workspace: &Workspace, python: &Path, folder: &Path) -> Result<()> {
    let above = workspace.root().join(PACKAGE);
    for name in modules(&above)? {
        let (from, to) = (above.join(&name), folder.join(&name));
        let inner = to.parent().context("a module lies in a folder")?;
        fs::create_dir_all(inner).with_context(|| format!("cannot make {}", inner.display()))?;
        fs::copy(&from, &to).with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    }
    let mut compile = command(python);
    let compiled = compile.args(["-m", "compileall", "-q"]).arg(folder).status();
    let compiled = compiled.with_context(|| format!("cannot run {}", python.display()))?;
    ensure!(compiled.success(), "{} could not be compiled", folder.display());
    Ok(())
}
