//! CPython's own tests of processes and threads, plainly and under `alloc-tracker record`. They take minutes, so they run on request:
//!
//! ```sh
//! cargo test --release -p tests --test end_to_end -- --ignored --nocapture cpythons_own
//! ```
//!
//! With 3.12 and later `test_threading` ends differently: `os.fork` counts the recorder's threads, and warns.
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
