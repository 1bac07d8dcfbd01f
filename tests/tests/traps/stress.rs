//! The stress trap: threads, forks, libraries, signals, scopes and sessions at once.
use crate::compiled::library;
use crate::counts::consistent;
use crate::run::{MODES, SYSTEM, run};

const STRESS: &str = env!("CARGO_BIN_EXE_victim-trap-stress");

/// Each run takes TRAP_STRESS_SECONDS, or ten seconds.
#[test]
fn with_sessions_that_come_and_go() {
    for mode in MODES.iter().filter(|&&mode| mode.records() && mode != SYSTEM) {
        for seed in ["1", "2"] {
            let ended = run(STRESS, *mode, &[seed, library()], &[]).passed();
            consistent(&ended.timeline());
        }
    }
}

#[test]
fn over_the_c_library() {
    let ended = run(STRESS, SYSTEM, &["4", library()], &[("TRAP_STRESS_SECONDS", "3")]).passed();
    consistent(&ended.timeline());
}

#[test]
fn without_a_timeline() {
    for mode in MODES.iter().filter(|mode| !mode.records()) {
        run(STRESS, *mode, &["3", library()], &[("TRAP_STRESS_SECONDS", "3")]).passed();
    }
}
