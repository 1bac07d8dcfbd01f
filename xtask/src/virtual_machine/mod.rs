//! A virtual machine that boots one of Debian's kernels under qemu, in software if need be, sees a folder of this machine as its own
//! files, read-only, and runs a script there.
//!
//! ```text
//! image.rs (kernel and first files) -> qemu: init.sh, then the script -> files in a folder
//! ```
pub mod check;
pub mod image;
pub mod left;

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use self::image::Image;
use crate::child::{OutputLine, stream_lines};
use crate::prerequisite;
use crate::progress::Progress;

/// A kind of machine that qemu emulates.
#[derive(Debug)]
pub struct Machine {
    /// The emulator.
    pub qemu: &'static str,
    /// The package of Debian and Ubuntu that has it.
    package: &'static str,
    /// What the emulator is told of the machine.
    board: &'static [&'static str],
    /// What the kernel writes to.
    console: &'static str,
}

/// A machine like a server or a desktop.
pub const X86_64: Machine =
    Machine { qemu: "qemu-system-x86_64", package: "qemu-system-x86", board: &[], console: "ttyS0" };
/// A machine for aarch64 without a model of its own.
pub const AARCH64: Machine =
    Machine { qemu: "qemu-system-aarch64", package: "qemu-system-arm", board: &["-M", "virt"], console: "ttyAMA0" };

/// What the virtual machine sees and for how long.
#[derive(Debug)]
pub struct Guest<'a> {
    /// The kernel and its first files.
    pub image: &'a Image,
    /// The folder that is its `/`.
    pub root: &'a Path,
    /// The folder that is its `/out`. It may write there, and runs the `guest.sh` of it.
    pub out: &'a Path,
    /// Minutes after which it is ended.
    pub minutes: u32,
}

impl Machine {
    /// Why such a machine cannot run here.
    pub fn why_not(&self) -> Option<String> {
        let needed = [(self.qemu, self.package), ("timeout", "coreutils"), ("xz", "xz-utils")];
        let missing = needed.iter().find(|(tool, _)| !prerequisite::succeeds(Command::new(tool).arg("--version")));
        missing.map(|(tool, package)| format!("no {tool} found; on Debian or Ubuntu: sudo apt-get install {package}"))
    }

    /// Runs the machine to its end; what it says is shown as it comes, behind `what` it is.
    ///
    /// # Errors
    /// When the emulator cannot be started, and when the script has not come to its end.
    pub fn boot(&self, guest: &Guest, what: &str) -> Result<()> {
        let Guest { image, root, out, minutes } = guest;
        let progress = Progress::open(what.to_owned());
        let mut qemu = Command::new("timeout");
        qemu.arg(format!("{minutes}m")).arg(self.qemu).args(self.board);
        qemu.args(["-accel", "tcg,thread=multi", "-cpu", "max", "-m", "3072", "-smp", "2"]);
        qemu.args(["-display", "none", "-nodefaults", "-serial", "stdio", "-no-reboot", "-append"]);
        qemu.arg(format!("console={} quiet panic=-1", self.console));
        qemu.arg("-kernel").arg(&image.kernel).arg("-initrd").arg(&image.files);
        // Without it, libtorch waits for the kernel to have collected enough chance.
        qemu.args(["-device", "virtio-rng-pci"]);
        let shared =
            |path: &Path, tag: &str| format!("local,path={},mount_tag={tag},security_model=none", path.display());
        qemu.arg("-virtfs").arg(format!("{},readonly=on,multidevs=remap", shared(root, "host")));
        qemu.arg("-virtfs").arg(shared(out, "out"));
        let mut last = Vec::new();
        let ended = stream_lines(&mut qemu, |line| {
            let (OutputLine::Stdout(line) | OutputLine::Stderr(line)) = line;
            progress.note(&line);
            last.push(line);
        });
        let over = last.iter().any(|line| line.contains("guest: over"));
        let tail = last[last.len().saturating_sub(20)..].join("\n    | ");
        ensure!(ended? && over, "the virtual machine did not come to its end in {minutes} minutes\n    | {tail}");
        progress.done("");
        Ok(())
    }
}
