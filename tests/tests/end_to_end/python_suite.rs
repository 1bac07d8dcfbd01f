//! CPython's own tests of processes and threads, plainly and under `alloc-tracker record`. They take minutes, so they run on request:
//!
//! ```sh
//! cargo test --release -p tests --test end_to_end -- --ignored --nocapture cpythons_own
//! ```
use std::path::Path;
use std::process::Command;

use tests::{Ran, binary, folder, run, text};

use super::python_api::own_python;

const SUITES: [&str; 5] =
    ["test_multiprocessing_fork", "test_multiprocessing_spawn", "test_subprocess", "test_threading", "test_ctypes"];

/// How often a suite may be repeated that ends differently: some of these tests measure times, and fail beside load without the recorder
/// as well.
const TURNS: u32 = 3;

/// What a suite says of its end: how many tests ran, and how many of them failed or were skipped.
fn outcome(ran: &Ran) -> (Option<i32>, Vec<String>) {
    let lines = ran.stdout.lines().chain(ran.stderr.lines());
    let count = |line: &str| line.starts_with("Ran ").then(|| line.split(" in ").next().unwrap_or_default().to_owned());
    let ends = |line: &str| (line.starts_with("OK") || line.starts_with("FAILED (")).then(|| line.to_owned());
    (ran.code, lines.filter_map(|line| count(line).or_else(|| ends(line))).collect())
}

/// A suite, run in `folder` by the command in front.
fn suite(mut command: Command, folder: &Path, name: &str) -> Ran {
    command.args(["-m", "test", "-v", name]).current_dir(folder);
    for variable in ["ALLOC_TRACKER", "ALLOC_TRACKER_STACKS", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"] {
        command.env_remove(variable);
    }
    run(&mut command)
}

fn check(python: &str, name: &str) {
    let mut differ = String::new();
    for _ in 0..TURNS {
        let folder = folder();
        let plain = suite(Command::new(python), folder.path(), name);
        let mut command = Command::new(binary("alloc-tracker"));
        command.args(["record", "-q", "-o", text(&folder.path().join("run-%p.timeline.json")), "--", python]);
        command.env("XDG_CACHE_HOME", folder.path().join("cache"));
        let recorded = suite(command, folder.path(), name);
        let [plain_ends, ends] = [&plain, &recorded].map(outcome);
        assert!(!plain_ends.1.is_empty(), "{name} ran nothing:\n{}{}", plain.stdout, plain.stderr);
        println!("{name}: plain {plain_ends:?}, recorded {ends:?}");
        if plain_ends == ends {
            return;
        }
        differ = format!("{}\n{}", recorded.stdout, recorded.stderr);
    }
    panic!("{name} ends differently each time; recorded:\n{differ}");
}

/// Forks with one thread, then with two.
const FORKS: &str = r#"
import os, sys, threading, warnings
def fork():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if os.fork() == 0:
            os._exit(0)
        os.wait()
    return [one.category.__name__ for one in caught]
print(fork(), flush=True)
stop = threading.Event()
thread = threading.Thread(target=stop.wait)
thread.start()
print(fork() == (["DeprecationWarning"] if sys.version_info >= (3, 12) else []))
stop.set()
thread.join()
"#;

/// By python3, and by each Python that ALLOC_TRACKER_TEST_PYTHONS names: from 3.12 on it counts the threads of the process when it forks.
#[test]
fn a_fork_warns_of_the_programs_threads_and_not_of_the_recorders() {
    let named = std::env::var("ALLOC_TRACKER_TEST_PYTHONS").unwrap_or_default();
    for python in named.split(':').filter(|python| !python.is_empty()).map(str::to_owned).chain(own_python()) {
        let folder = folder();
        let mut command = Command::new(binary("alloc-tracker"));
        command.args([
            "record",
            "-q",
            "-o",
            text(&folder.path().join("run-%p.timeline.json")),
            "--",
            &python,
            "-c",
            FORKS,
        ]);
        let ran = run(&mut command);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "[]\nTrue\n"), "{python}: {}", ran.stderr);
    }
}

#[test]
#[ignore = "takes minutes: CPython's own tests, by python3 or by each Python that ALLOC_TRACKER_TEST_PYTHONS names, with : between"]
fn cpythons_own_tests_end_as_without_the_recorder() {
    let named = std::env::var("ALLOC_TRACKER_TEST_PYTHONS").ok().or_else(own_python);
    for python in named.iter().flat_map(|pythons| pythons.split(':')) {
        let list = Command::new(python).args(["-W", "ignore", "-m", "test", "--list-tests"]).output();
        if list.is_ok_and(|listed| listed.status.success()) {
            println!("{python}");
            SUITES.iter().for_each(|name| check(python, name));
        } else {
            println!("SKIPPED: {python} has no package `test` that runs, which comes with CPython's sources");
        }
    }
}
