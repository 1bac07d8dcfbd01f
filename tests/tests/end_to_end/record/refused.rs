//! What is not recorded: `alloc-tracker record` says why, before the program starts or when it has ended, and leaves no file.
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tests::{binary, folder, run, text};

use super::{is_root, logs, programs, record, recorded, timelines};

/// What is refused, with the exit code and a part of the reason. Nothing may be left behind.
#[test]
fn what_cannot_be_recorded_is_refused_before_it_starts() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    let refused = |command: &Path, code: i32, reason: &str| {
        let ran = recorded(folder.path(), &[], &[text(command)]);
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert!(ran.stderr.contains(reason) && ran.stdout.is_empty(), "{reason}: {}", ran.stderr);
    };
    refused(Path::new("no-such-program"), 127, "no such program in PATH");
    refused(Path::new("./no-such-program"), 127, "check the path");
    fs::write(path("plain"), "text").expect("a file");
    refused(&path("plain"), 126, "chmod +x");
    let executable = |name: &str, bytes: &[u8]| {
        fs::write(path(name), bytes).expect("a file");
        fs::set_permissions(path(name), fs::Permissions::from_mode(0o755)).expect("the file is ours");
        path(name)
    };
    refused(&executable("neither", b"text"), 126, "neither an ELF file nor a script");
    refused(&executable("script", b"#!/no/such/interpreter\n"), 127, "names as its interpreter");
    refused(&executable("from-elsewhere", b"#!/bin/sh\r\nls\r\n"), 127, "end with a carriage return");
    let own = fs::read("/proc/self/exe").expect("this test");
    let mut other = own.clone();
    other[18..20].copy_from_slice(&243u16.to_le_bytes());
    refused(&executable("riscv", &other), 125, "another machine (riscv, 64 bits)");
    let loader = own.windows(6).position(|bytes| bytes == b"/lib64" || bytes == b"/lib/l").expect("the loader's path");
    let mut without_loader = own.clone();
    without_loader[loader + 1..loader + 4].copy_from_slice(b"gon");
    refused(&executable("no-loader", &without_loader), 125, "is not there");
    if let Some(program) =
        programs::compiled_with(folder.path(), "static.c", "int main(void) { return 0; }\n", &["-static"])
    {
        refused(&program, 125, "linked statically");
    }
    if is_root() {
        let setuid = executable("setuid", &own);
        std::os::unix::fs::chown(&setuid, Some(65534), None).expect("root may");
        fs::set_permissions(&setuid, fs::Permissions::from_mode(0o4755)).expect("root may");
        refused(&setuid, 125, "setuid");
    } else {
        println!("SKIPPED: a setuid program of another user can only be made by root");
    }
    for (options, reason) in [
        (["--stacks", "0"], "1 B to 1 TiB"),
        (["--stacks", "2TiB"], "1 B to 1 TiB"),
        (["--stacks", "1MiB,x"], "with a seed"),
    ] {
        let ran = recorded(folder.path(), &options, &["true"]);
        assert!(ran.code == Some(125) && ran.stderr.contains(reason), "{}", ran.stderr);
    }
    let off = run(record(folder.path()).env("ALLOC_TRACKER", "off").args(["--", "true"]));
    assert!(off.code == Some(125) && off.stderr.contains("unset ALLOC_TRACKER"), "{}", off.stderr);
    assert!(timelines(folder.path()).is_empty() && logs(folder.path()).is_empty());
}

#[test]
fn a_path_that_is_not_utf_8_is_refused() {
    let folder = folder();
    let ran = run(record(folder.path()).arg("-o").arg(OsStr::from_bytes(b"\xff.timeline.json")).args(["--", "true"]));
    assert!(ran.code == Some(125) && ran.stderr.contains("must be UTF-8"), "{ran:?}");
}

/// A session takes 143 MiB of addresses, and the tracker's tables 200. A program that is to have fewer in all runs as without.
#[test]
fn a_program_that_may_map_little_is_not_recorded_and_said_to_be() {
    let folder = folder();
    let record = format!("ulimit -v 300000; exec {} record -- ls /", text(&binary("alloc-tracker")));
    let ran = run(Command::new("sh").args(["-c", &record]).current_dir(folder.path()));
    let plain = Command::new("ls").arg("/").output().expect("a program");
    assert_eq!(
        (ran.stdout, ran.code),
        (String::from_utf8_lossy(&plain.stdout).into_owned(), Some(0)),
        "{}",
        ran.stderr
    );
    let said = "was not recorded: RLIMIT_AS leaves ";
    assert!(
        ran.stderr.contains(said) && ran.stderr.contains(" MiB of 292, and a recording takes 192"),
        "{}",
        ran.stderr
    );
    assert!(timelines(folder.path()).is_empty() && logs(folder.path()).is_empty());
}
