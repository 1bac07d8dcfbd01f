//! The recorder as a guest in a program: its files and its words do not get among the program's own.
use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use alloc_timeline::Ending;
use tests::{binary, folder, run, text};

use super::programs::{CLOSER, LAST_THREAD, LISTED, compiled, has, sleeper};
use super::running::kill;
use super::{logs, record, recorded, timelines, wait_for};

/// The log goes on in its own file, and the timeline is written without a loss.
#[test]
fn a_program_that_closes_all_descriptors_has_its_numbers_for_itself() {
    let (folder, own) = (folder(), folder());
    let Some(program) = compiled(folder.path(), "closer.c", CLOSER) else { return };
    let log = folder.path().join("run.timeline.json.log");
    let command = [text(&program), text(own.path()), text(&log)];
    let ran = recorded(folder.path(), &["-o", "run.timeline.json"], &command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let files: Vec<_> =
        fs::read_dir(own.path()).expect("the folder").map(|entry| entry.expect("an entry").path()).collect();
    // All from 3 to 40, and from 96 to 127.
    assert_eq!((files.len(), ran.stdout.trim()), (70, "70"));
    for file in files {
        assert_eq!(fs::read_to_string(&file).expect("text"), "own", "{}", file.display());
    }
    let found = timelines(folder.path());
    let [(_, timeline)] = &found[..] else { panic!("one timeline: {}", ran.stderr) };
    assert_eq!((timeline.ending, &timeline.tracker.losses), (Ending::Exit, &Vec::new()));
    assert!(logs(folder.path()).is_empty());
}

/// Neither the program nor what it starts, by fork or exec, has a descriptor more than without a recorder.
#[test]
fn the_recorders_descriptors_are_not_the_programs() {
    let folder = folder();
    for script in ["ls /proc/self/fd", "(ls /proc/self/fd; true)", "ls /proc/$$/fd", "exec ls /proc/self/fd"] {
        let command = ["sh", "-c", script];
        let plain = run(Command::new(command[0]).args(&command[1..]));
        let ran = recorded(folder.path(), &[], &command);
        assert_eq!((ran.code, ran.stdout), (Some(0), plain.stdout), "{script}: {}", ran.stderr);
    }
}

/// The exec functions that take any number of arguments: the new program gets them all, and the old one has its timeline.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_program_that_becomes_another_by_a_list_of_arguments_has_its_timeline() {
    let folder = folder();
    let Some(program) = compiled(folder.path(), "listed.c", LISTED) else { return };
    for (way, code, said) in [("none", 9, ""), ("l", 0, "8 h\n"), ("lp", 6, ""), ("le", 0, "1\n")] {
        let output = format!("{way}.timeline.json");
        let ran = recorded(folder.path(), &["-o", &output], &[text(&program), way]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), said), "{way}: {}", ran.stderr);
        let own = alloc_timeline::load(folder.path().join(output)).unwrap_or_else(|error| panic!("{way}: {error}"));
        assert_eq!(super::command(&own), [text(&program), way]);
        assert!(logs(folder.path()).is_empty(), "{way}: {}", ran.stderr);
    }
}

/// With so much to be left free, each program is near a limit of its memory at once.
const NEAR: (&str, &str) = ("ALLOC_TRACKER_NEAR_LIMIT", "99%");

/// Its standard error is a file of its own here, in which there is nothing but what it printed.
#[test]
fn that_a_limit_is_near_is_said_after_the_program_has_ended() {
    let folder = folder();
    let dump = folder.path().join("run.near-limit-1.timeline.json");
    let wait = "while [ ! -e run.near-limit-1.timeline.json ]; do sleep 0.05; done; echo err >&2";
    for (end, code) in [("exit 7", 7), ("kill -KILL $$", 128 + libc::SIGKILL)] {
        let script = format!("exec 2>err; {wait}; {end}");
        let mut command = record(folder.path());
        command.args(["--quiet", "--follow", "none", "-o", "run.timeline.json", "--", "sh", "-c", &script]);
        let ran = run(command.env(NEAR.0, NEAR.1));
        assert_eq!(ran.code, Some(code), "{}", ran.stderr);
        assert_eq!(fs::read_to_string(folder.path().join("err")).expect("what it printed"), "err\n");
        assert!(ran.stderr.contains("near a limit") && ran.stderr.contains(text(&dump)), "{}", ran.stderr);
        fs::remove_file(&dump).expect("the dump");
    }
}

/// A process that outlives the program, as a daemon does: it can still be asked, and its timeline comes with its end.
#[test]
fn a_process_that_goes_on_can_be_asked() {
    if !has("cc") {
        return;
    }
    let folder = folder();
    let start = format!("{} >said 2>&1 </dev/null &", text(&sleeper(folder.path())));
    let script = start + " while [ ! -s said ]; do sleep 0.05; done";
    // The folder through which it is asked is left behind, so it lies in this test's own.
    let mut command = record(folder.path());
    command.env("XDG_RUNTIME_DIR", folder.path()).args(["-o", "run.timeline.json", "--", "sh", "-c", &script]);
    let ran = run(&mut command);
    assert_eq!((ran.code, ran.stderr.matches("goes on").count()), (Some(0), 1), "{}", ran.stderr);
    let said =
        || fs::read_to_string(folder.path().join("said")).ok()?.lines().next()?.strip_prefix("ready ")?.parse().ok();
    let process: u32 = wait_for("the process id", said);
    let path = folder.path().join(format!("run-{process}.timeline.json"));
    let pid = process.to_string();
    let marked = run(Command::new(binary("alloc-tracker")).args(["mark", &pid, "later"])).stdout;
    assert!(marked.starts_with("marked 'later'"), "{marked}");
    kill(process, libc::SIGUSR1);
    let timeline = wait_for("its timeline", || alloc_timeline::load(&path).ok());
    assert_eq!((timeline.ending, timeline.marks[0].name.as_str()), (Ending::Exit, "later"));
}

/// The C library ends a process with its last thread. It counts the recorder's threads as well, so the recorder has to.
#[test]
fn a_process_ends_with_its_last_thread() {
    let folder = folder();
    let Some(program) = compiled(folder.path(), "last.c", LAST_THREAD) else { return };
    for (word, code, said) in [("main", 0, "last\nexit\n"), ("fork", 7, "exit\nchild 0\nexit\n")] {
        let plain = run(Command::new(&program).arg(word));
        assert_eq!((plain.code, plain.stdout.as_str()), (Some(code), said));
        let mut command = record(folder.path());
        command.args(["-o", "run-%p.timeline.json", "--", text(&program), word]).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().expect("alloc-tracker");
        let status = wait_for("the end of the program", || child.try_wait().expect("a child"));
        let mut ran = String::new();
        child.stdout.take().expect("a pipe").read_to_string(&mut ran).expect("text");
        assert_eq!((status.code(), ran.as_str()), (Some(code), said));
    }
    // A process for `main`, and two for `fork`.
    let endings: Vec<Ending> = timelines(folder.path()).into_iter().map(|(_, timeline)| timeline.ending).collect();
    assert_eq!((endings, logs(folder.path())), (vec![Ending::Exit; 3], Vec::new()));
}
