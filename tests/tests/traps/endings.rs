//! Ways to end with a session open: those that leave a timeline, and those that leave a log.
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use alloc_timeline::Ending;

use crate::counts::{consistent, held};
use crate::killed::recovered;
use crate::run::{Ended, MODES, SESSION, all_modes, run};

const EXIT: &str = env!("CARGO_BIN_EXE_victim-trap-exit");

/// Ends the trap in one way in all modes; gives the runs in which everything was recorded, that with a session first.
fn ends(trick: &str, ended_so: impl Fn(ExitStatus) -> bool) -> Vec<Ended> {
    let mut recorded = Vec::new();
    for &mode in MODES {
        let ended = run(EXIT, mode, &[trick], &[("RUST_BACKTRACE", "0")]).held();
        assert!(ended_so(ended.status), "{}: {}\n{}", ended.what, ended.status, ended.stderr);
        if mode == SESSION {
            recorded.insert(0, ended);
        } else if mode.records() {
            recorded.push(ended);
        }
    }
    recorded
}

/// The timeline exists, says how the run ended, and has the expected live blocks and at most a few bytes of the panic
/// itself.
fn wrote(ended: &[Ended], ending: Ending, requested: u64) {
    for ended in ended {
        let timeline = ended.timeline();
        consistent(&timeline);
        assert_eq!(timeline.ending, ending, "{}", ended.what);
        let left = held(&timeline, &timeline.at_exit.as_ref().expect("an end").snapshot, "held").0;
        assert!(left >= requested && left < requested + 1_000, "{}: {left}", ended.what);
        assert!(!ended.log().exists(), "{}", ended.what);
    }
}

#[test]
fn by_exit() {
    wrote(&ends("return", |status| status.success()), Ending::Exit, 0);
    wrote(&ends("exit", |status| status.code() == Some(3)), Ending::Exit, 100_000);
    for ended in ends("exit in a thread", |status| status.code() == Some(3)) {
        let timeline = ended.timeline();
        assert_eq!(timeline.ending, Ending::Exit);
        consistent(&timeline);
    }
}

/// The end of the process waits for the thread that writes the timeline.
#[test]
fn by_exit_while_another_thread_finishes() {
    for ended in ends("return while a thread finishes", |status| status.success()) {
        consistent(&ended.timeline());
        assert!(!ended.log().exists(), "{}", ended.what);
    }
}

/// The panic first drops the owner of the block, then the phase's guard, then the session.
#[test]
fn by_panic() {
    wrote(&ends("panic", |status| status.code() == Some(101)), Ending::Panic, 0);
}

/// The process had no chance to write the timeline. The one recovered from the log has the trap's block among its live
/// blocks.
fn left_a_log(ended: &Ended) {
    assert!(ended.log().exists() && !ended.path().exists(), "{}", ended.what);
    let timeline = recovered(&ended.log());
    let held = timeline.series.by_phase.get("held").and_then(|column| column.last()).copied().unwrap_or_default();
    assert!(held >= 100_000, "{}: {held}", ended.what);
}

#[test]
fn without_handlers() {
    for trick in ["_exit", "_Exit", "quick_exit"] {
        ends(trick, |status| status.code() == Some(3)).iter().for_each(left_a_log);
    }
}

#[test]
fn by_a_signal_of_its_own_making() {
    for (trick, signal) in [("abort", libc::SIGABRT), ("segv", libc::SIGSEGV), ("bus", libc::SIGBUS)] {
        ends(trick, |status| status.signal() == Some(signal)).iter().for_each(left_a_log);
    }
}

/// A second of processor time: the hard limit kills.
#[test]
fn by_the_limit_of_time() {
    ends("cpu", |status| status.signal() == Some(libc::SIGKILL)).iter().for_each(left_a_log);
}

/// A limit of address space and one of data: malloc answers with null, and Rust, when it is told so, aborts.
#[test]
fn by_a_limit_of_memory() {
    for trick in ["as", "data"] {
        for ended in ends(trick, |status| status.signal() == Some(libc::SIGABRT)) {
            assert!(ended.stderr.contains("memory allocation of 16777216 bytes failed"), "{}", ended.stderr);
            left_a_log(&ended);
        }
    }
}

#[test]
fn by_handles_that_are_dropped_late() {
    all_modes(env!("CARGO_BIN_EXE_victim-trap-handles"), &[]);
}
