//! Where `alloc-tracker record` writes, and what it leaves alone there.
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use tests::{binary, folder, run, text};

use super::{recorded, timelines};

const OPTIONS: [&str; 3] = ["--quiet", "-o", "run.timeline.json"];

fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = files.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The log is all that is left of the run that was killed, so it is kept, under another name.
#[test]
fn a_run_after_a_killed_one_has_the_name_that_was_typed() {
    let folder = folder();
    for round in 1..=2 {
        let killed = recorded(folder.path(), &OPTIONS, &["sh", "-c", "kill -9 $$"]);
        assert_eq!(killed.code, Some(137), "{}", killed.stderr);
        let ran = recorded(folder.path(), &OPTIONS, &["true"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let aside = format!("run.earlier-{round}.timeline.json.log");
        assert!(ran.stderr.contains(&format!("is now {}", folder.path().join(aside).display())), "{}", ran.stderr);
    }
    let expected = ["run.earlier-1.timeline.json.log", "run.earlier-2.timeline.json.log", "run.timeline.json"];
    assert_eq!(names(folder.path()), expected);
    let recovered = tests::viewer(&["recover", text(&folder.path().join(expected[0]))]);
    assert_eq!(recovered.code, Some(0), "{}", recovered.stderr);
}

#[test]
fn a_file_that_another_run_is_recording_is_refused() {
    let folder = folder();
    let ready = folder.path().join("ready");
    let script = format!("touch {}; exec sleep 600", ready.display());
    let mut first = Command::new(binary("alloc-tracker"));
    first.arg("record").args(OPTIONS).args(["--", "sh", "-c", &script]).current_dir(folder.path());
    let mut first = first.spawn().expect("alloc-tracker");
    let log = folder.path().join("run-2.timeline.json.log");
    super::wait_for("the second program's log", || (ready.exists() && log.exists()).then_some(()));
    symlink("run-2.timeline.json", folder.path().join("link.json")).expect("a link");
    let refused = ["run-2.timeline.json", "link.json"].map(|name| recorded(folder.path(), &["-o", name], &["true"]));
    super::running::kill(first.id(), libc::SIGTERM);
    first.wait().expect("a child");
    for refused in refused {
        assert_eq!(refused.code, Some(125), "{}", refused.stderr);
        assert!(refused.stderr.contains("is being recorded by a process that runs"), "{}", refused.stderr);
    }
}

#[test]
fn a_link_stays_and_no_stream_is_replaced() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("real")).expect("a folder");
    fs::write(path("real/x.json"), "before").expect("a file");
    symlink("real/x.json", path("run.timeline.json")).expect("a link");
    let ran = recorded(folder.path(), &OPTIONS, &["true"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(path("run.timeline.json").is_symlink() && alloc_timeline::load(path("real/x.json")).is_ok());
    assert_eq!(timelines(folder.path()).len(), 1);
    symlink("/proc/self/fd/1", path("stdout")).expect("a link");
    let said = fs::File::create(path("said")).expect("a file");
    let mut command = Command::new(binary("alloc-tracker"));
    command.args(["record", "-o", "stdout", "--", "true"]).current_dir(folder.path()).stdout(said);
    assert_eq!(command.status().expect("alloc-tracker").code(), Some(125));
    assert!(path("stdout").is_symlink() && path("said").exists());
    let refused = recorded(folder.path(), &["-o", "/dev/null"], &["true"]);
    assert!(refused.code == Some(125) && refused.stderr.contains("no file that can be replaced"), "{}", refused.stderr);
}

#[test]
fn what_is_refused_leaves_the_file_that_was_there() {
    let folder = folder();
    fs::write(folder.path().join("run.timeline.json"), "before").expect("a file");
    let refused = recorded(folder.path(), &OPTIONS, &["no-such-program"]);
    assert_eq!(refused.code, Some(127), "{}", refused.stderr);
    assert_eq!(fs::read_to_string(folder.path().join("run.timeline.json")).expect("the file"), "before");
}

/// A folder for what runs is that of another user after `su`.
#[test]
fn a_runtime_folder_that_cannot_be_written_to_is_passed_over() {
    let folder = folder();
    let mut command = super::record(folder.path());
    let ran = run(command.env("XDG_RUNTIME_DIR", "/proc").args(["--quiet", "--", "true"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(timelines(folder.path()).len(), 1);
}

/// The process id is a part of the file's name, and of no folder's.
#[test]
fn a_folder_may_have_a_per_cent_sign_in_its_name() {
    let folder = folder();
    let folder = folder.path().join("50%pure");
    fs::create_dir(&folder).expect("a folder");
    let ran = recorded(&folder, &["--quiet"], &["true"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(timelines(&folder).len(), 1);
}
