//! Descriptors: the recorder's and the program's do not get into each other's way.
use alloc_timeline::Ending;

use crate::compiled::calling;
use crate::run::{MODES, all_modes, run};

const CLOSING: &str = env!("CARGO_BIN_EXE_victim-trap-descriptors");
const TABLE: &str = env!("CARGO_BIN_EXE_victim-trap-table");

/// The session loses nothing by it, because the recorder's descriptors are in a table of their own.
#[test]
fn where_all_are_closed() {
    for &mode in MODES {
        for more in [&[][..], &["older"]] {
            let ended = run(CLOSING, mode, more, &[]).passed();
            if mode.session {
                assert_eq!(ended.timeline().tracker.losses, Vec::<String>::new(), "{}", ended.what);
            }
        }
    }
}

/// Without a table of its own the recorder keeps away from the program's files as well as it can (`kept_file.rs`): nothing is
/// written into them, and there is a timeline. That none is ever closed is not promised there.
#[test]
fn where_all_are_closed_and_no_other_table_is_to_be_had() {
    for &mode in MODES {
        let ended = run(CLOSING, mode, &["refused"], &[]).passed();
        if mode.session {
            ended.timeline();
        }
    }
}

#[test]
fn what_the_program_closes_is_closed() {
    all_modes(TABLE, &["ends"]);
}

#[test]
fn what_the_program_locks_stays_locked() {
    all_modes(TABLE, &["locks"]);
}

#[test]
fn children_inherit_none_of_the_recorders() {
    all_modes(TABLE, &["children"]);
}

#[test]
fn a_function_before_a_peak_has_the_programs() {
    all_modes(TABLE, &["function"]);
}

/// The session ends with the process, and does not wait for the function.
#[test]
fn a_function_before_a_peak_may_end_the_process() {
    for &mode in MODES.iter().filter(|mode| mode.records()) {
        let ended = run(TABLE, mode, &["exits"], &[]).held();
        assert_eq!(ended.status.code(), Some(7), "{}: {}", ended.what, ended.stderr);
        assert_eq!(ended.timeline().ending, Ending::Exit, "{}", ended.what);
    }
}

/// Its constructor and destructor run under the loader's lock, which no other thread can have meanwhile.
#[test]
fn a_library_may_start_and_finish_the_session() {
    all_modes(TABLE, &["library", calling()]);
}
