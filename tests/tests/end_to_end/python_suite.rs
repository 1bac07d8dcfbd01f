//! CPython's own tests of processes and threads, plainly and under `alloc-tracker record`. They take minutes, so they run on request:
//!
//! ```sh
//! cargo test --release -p tests --test end_to_end -- --ignored --nocapture cpythons_own
//! ```
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tests::{Ran, binary, folder, run, text};

use super::beside::{hears_ctrl_c, pythons};
use super::python_api::own_python;

/// A Python may have a suite in parts, such as `test.test_multiprocessing_spawn.test_misc`.
const SUITES: [&str; 7] = [
    "test_ctypes",
    "test_subprocess",
    "test_threading",
    "test_multiprocessing_main_handling",
    "test_multiprocessing_fork",
    "test_multiprocessing_forkserver",
    "test_multiprocessing_spawn",
];

/// How often a suite may be repeated that ends differently: some of these tests measure times, and fail beside load without the recorder
/// as well.
const TURNS: u32 = 3;

/// What a suite says of its end: how many tests ran, how many of them failed or were skipped, and which failed.
fn outcome(ran: &Ran) -> (Option<i32>, Vec<String>) {
    let lines = ran.stdout.lines().chain(ran.stderr.lines());
    let count = |line: &str| line.starts_with("Ran ").then(|| line.split(" in ").next().unwrap_or_default().to_owned());
    let ends = |line: &str| (line.starts_with("OK") || line.starts_with("FAILED (")).then(|| line.to_owned());
    let fails = |line: &str| (line.starts_with("FAIL: ") || line.starts_with("ERROR: ")).then(|| line.to_owned());
    (ran.code, lines.filter_map(|line| count(line).or_else(|| ends(line)).or_else(|| fails(line))).collect())
}

/// A suite, run in `folder` by the command in front, and how long it took.
fn suite(mut command: Command, folder: &Path, name: &str) -> (Ran, Duration) {
    command.args(["-m", "test", "-v", name]).current_dir(folder);
    for variable in ["ALLOC_TRACKER", "ALLOC_TRACKER_STACKS", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"] {
        command.env_remove(variable);
    }
    // Some of the tests interrupt themselves.
    hears_ctrl_c(&mut command);
    let begin = Instant::now();
    (run(&mut command), begin.elapsed())
}

/// Runs a suite both ways; whether it ended the same, in one of the turns.
fn ends_the_same(python: &str, name: &str) -> bool {
    for _ in 0..TURNS {
        let folder = folder();
        let (plain, plain_time) = suite(Command::new(python), folder.path(), name);
        let mut command = Command::new(binary("alloc-tracker"));
        command.args(["record", "-q", "-o", text(&folder.path().join("run-%p.timeline.json")), "--", python]);
        command.env("XDG_CACHE_HOME", folder.path().join("cache"));
        let (recorded, time) = suite(command, folder.path(), name);
        let [plain_ends, ends] = [&plain, &recorded].map(outcome);
        assert!(!plain_ends.1.is_empty(), "{name} ran nothing:\n{}{}", plain.stdout, plain.stderr);
        println!("{name}: plain {plain_ends:?} in {plain_time:.0?}, recorded {ends:?} in {time:.0?}");
        if plain_ends == ends {
            return true;
        }
        println!("{}\n{}", recorded.stdout, recorded.stderr);
    }
    false
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
    for python in pythons() {
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

/// The names of the suites as this Python lists them; none where its package `test` does not run, which comes with CPython's sources.
fn listed(python: &str) -> Vec<String> {
    let list = Command::new(python).args(["-W", "ignore", "-m", "test", "--list-tests"]).output();
    let list = list.ok().filter(|listed| listed.status.success());
    let names = list.map(|listed| String::from_utf8_lossy(&listed.stdout).into_owned()).unwrap_or_default();
    let is_part = |name: &str, suite: &str| {
        name == suite || name.strip_prefix("test.").is_some_and(|name| name.split('.').next() == Some(suite))
    };
    let of = |suite: &&str| names.lines().filter(|name| is_part(name, suite)).map(str::to_owned).collect::<Vec<_>>();
    SUITES.iter().flat_map(of).collect()
}

#[test]
#[ignore = "takes minutes: CPython's own tests, by python3 or by each Python that ALLOC_TRACKER_TEST_PYTHONS names, with : between"]
fn cpythons_own_tests_end_as_without_the_recorder() {
    let named = std::env::var("ALLOC_TRACKER_TEST_PYTHONS").ok().or_else(own_python);
    let mut differing = Vec::new();
    for python in named.iter().flat_map(|pythons| pythons.split(':')) {
        println!("{python}");
        let suites = listed(python);
        let has = |suite: &str| suites.iter().any(|name| name.split('.').any(|part| part == suite));
        for suite in SUITES.into_iter().filter(|suite| !has(suite)) {
            println!("SKIPPED: {python} has no {suite}, which comes with CPython's sources");
        }
        let differ = suites.into_iter().filter(|name| !ends_the_same(python, name));
        differing.extend(differ.map(|name| format!("{python} {name}")));
    }
    assert!(differing.is_empty(), "they end differently each time: {differing:?}");
}
