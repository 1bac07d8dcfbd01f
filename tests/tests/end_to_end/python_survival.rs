//! What a program in Python starts and how it ends is the same under `alloc-tracker record` as without: processes, signals, threads, exits
//! and exceptions. Each program runs plainly beside it, by `python3` and by each Python that `ALLOC_TRACKER_TEST_PYTHONS` names.
use alloc_timeline::Ending;
use tests::Ran;

use super::beside::{Program, Sent, While, program, pythons};

const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/end_to_end/python_survival");

/// The path of a script of this test.
pub fn script(name: &str) -> String {
    format!("{SCRIPTS}/{name}")
}

/// Runs a script with these words by each Python, and has `check` look at what came out.
fn each(words: &[&str], changed: impl Fn(Program) -> Program, check: impl Fn(&Ran, &[Ending])) {
    for python in pythons() {
        let path = script(words[0]);
        let words: Vec<&str> = [path.as_str()].into_iter().chain(words[1..].iter().copied()).collect();
        let (plain, endings) = changed(program(&python, &words)).runs_the_same();
        println!("{python} {words:?}: {:?}, {endings:?}", plain.code);
        check(&plain, &endings);
    }
}

/// Runs it to this exit code; its one process must end in this way.
fn one(words: &[&str], code: i32, ending: Ending) {
    each(
        words,
        |program| program,
        |plain, endings| {
            assert_eq!((plain.code, endings), (Some(code), &[ending][..]), "{words:?}: {}", plain.stderr);
        },
    );
}

#[test]
fn fork() {
    each(
        &["forks.py"],
        |program| program,
        |plain, endings| {
            assert_eq!(plain.code, Some(0), "{}", plain.stderr);
            assert!(plain.stdout.ends_with("the last child 6\n"), "{}", plain.stdout);
            // The program, its four children, and a child of one of them.
            assert_eq!(endings, [Ending::Exit; 6]);
        },
    );
}

/// The pools, processes, managers and executors of multiprocessing. Two of its processes are killed, and Python terminates a manager that
/// has not left a second after it was asked to (`BaseManager._finalize_manager`), which happens on a busy machine.
fn workers(method: &str) {
    each(
        &["workers.py", method],
        |program| program,
        |plain, endings| {
            assert_eq!(plain.code, Some(0), "{}", plain.stderr);
            assert!(plain.stdout.ends_with("executor [0, 1, 4, 9]\n"), "{}", plain.stdout);
            let exits = endings.iter().filter(|ending| **ending == Ending::Exit).count();
            // A pool that replaces its workers after three of eleven calls, seven processes, a manager, and the program.
            assert!(exits >= 12 && endings.len() - exits <= 3, "{endings:?}");
        },
    );
}

#[test]
fn multiprocessing_by_fork() {
    workers("fork");
}

#[test]
fn multiprocessing_by_spawn() {
    workers("spawn");
}

#[test]
fn multiprocessing_by_forkserver() {
    workers("forkserver");
}

#[test]
fn os_exit() {
    one(&["leaves.py", "exits_at_once"], 7, Ending::Exit);
    one(&["leaves.py", "exits_at_once_in_a_thread"], 9, Ending::Exit);
    one(&["leaves.py", "exits_at_once_at_exit"], 11, Ending::Exit);
}

#[test]
fn quick_exit() {
    one(&["leaves.py", "exits_quickly"], 13, Ending::Exit);
}

/// It becomes `echo`, which is not recorded: its environment says nothing of it.
#[test]
fn execveat() {
    one(&["leaves.py", "becomes_another_by_a_folder"], 0, Ending::Exit);
}

#[test]
fn handlers_at_exit() {
    one(&["leaves.py", "has_handlers"], 4, Ending::Exit);
}

#[test]
fn daemon_threads_that_run_at_the_end() {
    one(&["leaves.py", "has_daemon_threads"], 0, Ending::Exit);
}

#[test]
fn threads_that_outlive_the_last_line() {
    one(&["leaves.py", "has_threads"], 0, Ending::Exit);
}

/// A signal ends them: nobody can finish a timeline, and the log makes one.
#[test]
fn a_program_that_a_signal_kills() {
    one(&["leaves.py", "aborts"], 128 + libc::SIGABRT, Ending::Recovered);
    one(&["leaves.py", "kills_itself"], 128 + libc::SIGKILL, Ending::Recovered);
    one(&["leaves.py", "reads_at_zero"], 128 + libc::SIGSEGV, Ending::Recovered);
}

/// Python itself does so at its end after Ctrl-C.
#[test]
fn sigint_that_a_program_sends_itself() {
    one(&["leaves.py", "interrupts_itself"], 128 + libc::SIGINT, Ending::Interrupted);
    one(&["leaves.py", "raises_an_interrupt"], 128 + libc::SIGINT, Ending::Interrupted);
    one(&["leaves.py", "hears_itself"], 0, Ending::Exit);
}

fn ctrl_c(way: &str, what: While, code: i32, ending: Ending) {
    each(
        &["interrupted.py", way],
        |program| program.sent(Sent::CtrlC, what),
        |plain, endings| {
            assert_eq!((plain.code, endings), (Some(code), &[ending][..]), "{way}: {}", plain.stderr);
        },
    );
}

#[test]
fn ctrl_c_while_it_runs() {
    ctrl_c("runs", While::Running, 128 + libc::SIGINT, Ending::Interrupted);
}

#[test]
fn ctrl_c_while_it_waits() {
    for way in
        ["sleeps", "waits_for_a_lock", "waits_for_a_queue", "waits_for_a_thread", "waits_for_a_descriptor", "cleans_up"]
    {
        ctrl_c(way, While::Waiting, 128 + libc::SIGINT, Ending::Interrupted);
    }
}

#[test]
fn ctrl_c_that_is_caught() {
    ctrl_c("catches", While::Waiting, 3, Ending::Exit);
}

#[test]
fn ctrl_c_while_it_waits_for_a_program() {
    each(
        &["interrupted.py", "waits_for_a_program"],
        |program| program.sent(Sent::CtrlC, While::Waiting),
        |plain, endings| {
            assert_eq!(plain.code, Some(128 + libc::SIGINT), "{}", plain.stderr);
            // What it waits for gets the signal as well, and has no handler: it leaves a log, or ends itself as some shells do.
            let rest = endings.strip_prefix(&[Ending::Interrupted]).expect("the program's own");
            assert!(rest == [Ending::Recovered] || rest == [Ending::Interrupted], "{endings:?}");
        },
    );
}

#[test]
fn sigterm() {
    for (way, code, ending) in
        [("leaves", 5, Ending::Exit), ("comes_back", 0, Ending::Exit), ("none", 128 + libc::SIGTERM, Ending::Recovered)]
    {
        each(
            &["terminated.py", way],
            |program| program.sent(Sent::Sigterm, While::Waiting),
            |plain, endings| {
                assert_eq!((plain.code, endings), (Some(code), &[ending][..]), "{way}: {}", plain.stderr);
            },
        );
    }
}

#[test]
fn an_exception_that_nobody_catches() {
    for way in ["a_chain", "in_an_import", "in_a_module", "by_recursion", "a_syntax_error", "no_memory", "by_a_hook"] {
        one(&["raises.py", way], 1, Ending::Exit);
    }
}

#[test]
fn an_exception_that_ends_less_than_the_program() {
    for way in ["in_a_thread", "in_a_destructor", "a_warning"] {
        one(&["raises.py", way], 0, Ending::Exit);
    }
}

#[test]
fn exit_codes() {
    for (value, code) in
        [("0", 0), ("3", 3), ("256", 0), ("-1", 255), ("None", 0), ("'a text'", 1), ("(1, 2)", 1), ("True", 1)]
    {
        one(&["raises.py", "of_an_exit", value], code, Ending::Exit);
    }
}
