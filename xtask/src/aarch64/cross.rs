//! What runs on the emulated machine, compiled here.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::prerequisite;
use crate::programs;
use crate::workspace::Workspace;

const TARGET: &str = "aarch64-unknown-linux-gnu";
const COMPILER: &str = "aarch64-linux-gnu-gcc";
const LINKER: &str = "target.aarch64-unknown-linux-gnu.linker='aarch64-linux-gnu-gcc'";
const PROGRAM: &str = include_str!("program.c");
const PYTHON_PROGRAM: &str = include_str!("program.py");
/// What the tracker's tests read, below the checkout.
const READ_BY_TESTS: [&str; 3] = ["fixtures", "alloc-tracker/src", "alloc-tracker/tests"];

/// Why nothing can be compiled for that machine here.
pub fn why_not() -> Option<String> {
    if !prerequisite::succeeds(Command::new(COMPILER).arg("--version")) {
        return Some(format!("no {COMPILER} found; on Debian or Ubuntu: sudo apt-get install gcc-aarch64-linux-gnu"));
    }
    let libraries = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output().ok();
    let there = libraries.is_some_and(|shown| Path::new(String::from_utf8_lossy(&shown.stdout).trim()).exists());
    (!there).then(|| format!("Rust's libraries for that machine are not there: rustup target add {TARGET}"))
}

/// Compiles the programs and puts them below `root`, with what they read, as the guest's script expects it.
pub fn build(workspace: &Workspace, root: &Path) -> Result<()> {
    let built = root.join("built");
    fs::create_dir_all(&built).context("cannot make a folder")?;
    let cross = ["--target", TARGET, "--config", LINKER];
    let tools = programs::build(workspace, &[&cross[..], &["-p", "alloc-tracker-cli", "-p", "viewer"]].concat())?;
    let tests = programs::build_tests(workspace, &[&cross[..], &["-p", "alloc-tracker", "--lib"]].concat())?;
    let copied = [
        (&tools, "alloc-tracker", "alloc-tracker"),
        (&tools, "viewer", "viewer"),
        (&tests, "alloc_tracker", "unit-tests"),
    ];
    for (programs, name, to) in copied {
        let program = programs.command(workspace, name)?;
        fs::copy(program.get_program(), built.join(to)).with_context(|| format!("cannot copy {name}"))?;
    }
    compile(COMPILER, &built)?;
    fs::write(built.join("program.py"), PYTHON_PROGRAM).context("cannot write a file")?;
    // Tests know the checkout by its path here.
    let checkout = root.join(workspace.root().strip_prefix("/").unwrap_or(workspace.root()));
    for name in READ_BY_TESTS {
        let to = checkout.join(name);
        fs::create_dir_all(&to).context("cannot make a folder")?;
        let copied = Command::new("cp").arg("-R").arg(workspace.root().join(name).join(".")).arg(&to).status();
        ensure!(copied.context("cannot start cp")?.success(), "cannot copy {name}");
    }
    symlink(workspace.root(), root.join("checkout")).context("cannot make a link")?;
    for folder in ["dev", "proc", "root", "sys", "tmp"] {
        fs::create_dir_all(root.join(folder)).context("cannot make a folder")?;
    }
    // Debian's folders below / are links into /usr; a package's files alone do not make them. The script needs a shell.
    for (link, to) in [("bin", "usr/bin"), ("lib", "usr/lib"), ("bin/sh", "busybox")] {
        if fs::symlink_metadata(root.join(link)).is_err() {
            symlink(to, root.join(link)).context("cannot make a link")?;
        }
    }
    Ok(())
}

/// Records the program in C on this machine, compiled for it, and returns its timeline.
pub fn record_here(workspace: &Workspace, scratch: &Path) -> Result<Value> {
    let folder = scratch.join("here");
    fs::create_dir_all(&folder).context("cannot make a folder")?;
    compile("cc", &folder)?;
    let path = folder.join("c.timeline.json");
    let tools = programs::build(workspace, &["-p", "alloc-tracker-cli"])?;
    let mut record = tools.command(workspace, "alloc-tracker")?;
    record.args(["record", "-q", "-o"]).arg(&path).arg("--").arg(folder.join("program"));
    ensure!(prerequisite::succeeds(&mut record), "the program in C could not be recorded here");
    let text = fs::read_to_string(&path).with_context(|| format!("no {}", path.display()))?;
    serde_json::from_str(&text).context("the timeline is no JSON")
}

/// Compiles the program in C into `folder`, without optimisation, which would leave out blocks that nobody reads.
fn compile(compiler: &str, folder: &Path) -> Result<()> {
    let source = folder.join("program.c");
    fs::write(&source, PROGRAM).context("cannot write a file")?;
    let mut command = Command::new(compiler);
    command.args(["-O0", "-g", "-pthread", "-o"]).arg(folder.join("program")).arg(&source);
    ensure!(prerequisite::succeeds(&mut command), "{compiler} cannot compile the program in C");
    Ok(())
}
