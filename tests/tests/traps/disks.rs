//! Folders that cannot be written to, or not any more, and full disks.
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use crate::killed::recovered;
use crate::run::{MODES, all_modes, run_as};

/// A removed working directory, a folder of the kernel's, one that is not there, and one that goes away.
#[test]
fn where_nothing_can_be_written() {
    all_modes(env!("CARGO_BIN_EXE_victim-trap-folder"), &[]);
}

/// `victim`, to be run in a mount namespace of its own, with a file system of one megabyte at `disk` in the folder of
/// its timeline. `Err` says why that cannot be.
fn with_disk(victim: &str, options: &str) -> Result<Command, String> {
    let unshared = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command
    };
    let mount = format!("mount -t tmpfs -o size=1m,{options} none");
    let tried = unshared(&format!("{mount} /tmp")).output().map_err(|error| format!("unshare: {error}"))?;
    if !tried.status.success() {
        return Err(String::from_utf8_lossy(&tried.stderr).trim().to_owned());
    }
    let mut command =
        unshared(&format!("mkdir \"${{1%/*}}/disk\" && {mount} \"${{1%/*}}/disk\" && exec \"$0\" \"$@\""));
    command.arg(victim);
    Ok(command)
}

/// The session says what it lost, by its error or its report and in the timeline; the program goes on.
#[test]
fn a_full_and_a_read_only_one() {
    for (trick, options) in [("full", "rw"), ("read-only", "ro")] {
        for &mode in MODES.iter().filter(|mode| mode.records()) {
            match with_disk(env!("CARGO_BIN_EXE_victim-trap-disk"), options) {
                Ok(command) => drop(run_as(command, mode, &[trick], &[]).passed()),
                Err(why) => return println!("SKIPPED: no disk to fill: {why}"),
            }
        }
    }
}

/// A file is mapped and the disk has no room for its pages. The log, on another disk, is recovered.
#[test]
fn a_full_one_below_a_mapping() {
    for &mode in MODES.iter().filter(|mode| mode.session) {
        let command = match with_disk(env!("CARGO_BIN_EXE_victim-trap-exit"), "rw") {
            Ok(command) => command,
            Err(why) => return println!("SKIPPED: no disk to fill: {why}"),
        };
        let ended = run_as(command, mode, &["full disk"], &[]).held();
        assert_eq!(ended.status.signal(), Some(libc::SIGBUS), "{}: {}", ended.what, ended.status);
        if mode.records() {
            recovered(&ended.log());
        }
    }
}
