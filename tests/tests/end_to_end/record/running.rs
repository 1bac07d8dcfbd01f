//! Programs under `alloc-tracker record` to which something happens while they run: signals, their death, and what others ask of them.
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use alloc_timeline::Ending;
use tests::{binary, folder, run, text};

use super::programs::{has, sleeper};
use super::{record, wait_for};
use crate::beside::hears_ctrl_c;

/// A program that allocates, under `record`, and its own process id, once it has said that it is ready.
fn started(folder: &Path, options: &[&str]) -> (Child, u32) {
    let program = sleeper(folder);
    let mut command = record(folder);
    command.args(options).args(["--", text(&program)]).process_group(0);
    command.stdin(Stdio::piped()).stdout(fs::File::create(folder.join("said")).expect("a file"));
    command.stderr(fs::File::create(folder.join("told")).expect("a file"));
    hears_ctrl_c(&mut command);
    let child = command.spawn().expect("alloc-tracker");
    let said = || fs::read_to_string(folder.join("said")).ok()?.lines().next()?.strip_prefix("ready ")?.parse().ok();
    let process = wait_for("the program's process id", said);
    (child, process)
}

/// Waits for the child; the exit code, and what the recorder told.
fn end(mut child: Child, folder: &Path) -> (Option<i32>, String) {
    let status = wait_for("the end of alloc-tracker", || child.try_wait().expect("a child"));
    (status.code(), fs::read_to_string(folder.join("told")).expect("what it told"))
}

pub fn kill(process: u32, signal: i32) {
    // SAFETY: kill takes numbers.
    assert_eq!(unsafe { libc::kill(process as i32, signal) }, 0, "{process}");
}

#[test]
fn a_killed_program_leaves_its_log_and_the_command_that_recovers_it() {
    let folder = folder();
    if !has("cc") {
        return;
    }
    let (child, process) = started(folder.path(), &["-o", "run.timeline.json"]);
    kill(process, libc::SIGKILL);
    let (code, told) = end(child, folder.path());
    assert_eq!(code, Some(137), "{told}");
    let log = folder.path().join("run.timeline.json.log");
    assert!(told.contains(&format!("viewer recover {}", log.display())), "{told}");
    let recovered = tests::viewer(&["recover", text(&log)]);
    assert_eq!(recovered.code, Some(0), "{}", recovered.stderr);
}

#[test]
fn signals_reach_the_program() {
    if !has("cc") {
        return;
    }
    for (signal, code) in [(libc::SIGUSR1, 0), (libc::SIGTERM, 128 + libc::SIGTERM), (libc::SIGINT, 128 + libc::SIGINT)]
    {
        let folder = folder();
        let (child, _) = started(folder.path(), &["-o", "run.timeline.json"]);
        kill(child.id(), signal);
        let (ended, told) = end(child, folder.path());
        assert_eq!(ended, Some(code), "signal {signal}: {told}");
    }
}

#[test]
fn a_running_program_is_asked_for_dumps_marks_and_its_end() {
    if !has("cc") {
        return;
    }
    let folder = folder();
    let (child, process) = started(folder.path(), &["-o", "run.timeline.json"]);
    let ask = |words: &[&str]| {
        let ran = run(Command::new(binary("alloc-tracker")).args(words));
        assert_eq!(ran.code, Some(0), "{words:?}: {}", ran.stderr);
        ran.stdout
    };
    let pid = process.to_string();
    let marked = ask(&["mark", &pid, "half way"]);
    assert!(marked.starts_with("marked 'half way' at "), "{marked}");
    let dumped = ask(&["dump", &pid]);
    let dump = folder.path().join("run.dump-1.timeline.json");
    assert!(dumped.contains(text(&dump)), "{dumped}");
    let copy = alloc_timeline::load(&dump).expect("a dump");
    assert_eq!((copy.ending, copy.marks[0].name.as_str()), (Ending::Dumped, "half way"));
    // The program holds 8 MiB.
    assert!(copy.marks[0].live_bytes >= 8 << 20, "{}", copy.marks[0].live_bytes);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let unsaid = Command::new(binary("alloc-tracker")).args(["mark", &pid, "unsaid"]).stdout(full).output();
    let unsaid = unsaid.expect("alloc-tracker");
    let told = String::from_utf8_lossy(&unsaid.stderr);
    assert!(unsaid.status.code() == Some(125) && told.contains("cannot be printed"), "{told}");
    let listener = format!("{} mark {pid} unheard | true", binary("alloc-tracker").display());
    let unheard = run(Command::new("bash").args(["-o", "pipefail", "-c", &listener]));
    assert!(unheard.code == Some(0) && unheard.stderr.is_empty(), "{unheard:?}");
    let stopped = ask(&["stop", &pid]);
    assert!(stopped.contains("the process goes on"), "{stopped}");
    let whole = alloc_timeline::load(folder.path().join("run.timeline.json")).expect("a timeline");
    assert_eq!(whole.ending, Ending::Finished);
    assert!(Path::new(&format!("/proc/{process}")).exists(), "the program goes on");
    let gone = run(Command::new(binary("alloc-tracker")).args(["dump", &std::process::id().to_string()]));
    assert!(gone.code == Some(125) && gone.stderr.contains("not started by"), "{gone:?}");
    kill(process, libc::SIGUSR1);
    assert_eq!(end(child, folder.path()).0, Some(0));
}

/// Rust starts programs with the default, which ends them.
#[test]
fn a_program_keeps_broken_pipes_ignored_where_they_were() {
    let folder = folder();
    let recorded = format!(
        "trap '' PIPE; exec {} record -q -- sh -c 'kill -PIPE $$; echo lives'",
        binary("alloc-tracker").display()
    );
    for (shell, code, said) in
        [(recorded.as_str(), 0, "lives\n"), (recorded.trim_start_matches("trap '' PIPE; "), 128 + libc::SIGPIPE, "")]
    {
        let ran = run(Command::new("sh").current_dir(folder.path()).env_remove("ALLOC_TRACKER").args(["-c", shell]));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), said), "{}", ran.stderr);
    }
}
