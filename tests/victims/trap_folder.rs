//! The places where nothing can be written: a working directory that was removed, a folder of the kernel's, and a
//! folder that is removed while the session records. The program is told and goes on.
use std::hint::black_box;

use alloc_interpose as _;
use alloc_tracker::{Session, SessionError};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

fn refused(path: &str) -> bool {
    let result = Session::builder().output(path).start();
    drop(black_box(vec![0u8; 100_000]));
    matches!(result, Err(SessionError::Output { .. }))
}

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let gone = folder.path().join("gone");
    std::fs::create_dir(&gone).expect("a folder in it");
    std::env::set_current_dir(&gone).expect("to be there");
    std::fs::remove_dir(&gone).expect("it is empty");
    check("a removed working directory", refused("run.timeline.json"), true);
    check("a folder of the kernel's", refused("/proc/run.timeline.json"), true);
    check("no such folder", refused("/nowhere/at/all/run.timeline.json"), true);

    std::fs::create_dir(&gone).expect("a folder again");
    let session = Session::builder().output(gone.join("run.timeline.json")).start().expect("a session");
    drop(black_box(vec![0u8; 100_000]));
    std::fs::remove_dir_all(&gone).expect("a folder with a log in it");
    std::thread::sleep(std::time::Duration::from_millis(50));
    check("the folder went away", matches!(session.finish(), Err(SessionError::Store { .. })), true);
    // A relative path means the folder of the start, whatever the working directory is at the end.
    std::env::set_current_dir(folder.path()).expect("to be there");
    let session = Session::builder().output("moved.timeline.json").start().expect("a session");
    let elsewhere = tempfile::tempdir().expect("a second folder");
    std::env::set_current_dir(elsewhere.path()).expect("to be there");
    let report = session.finish();
    check("a working directory that changes", report.is_ok(), true);
    check("the file is where the session began", folder.path().join("moved.timeline.json").exists(), true);
    // And a session that works after all those that did not.
    finish(trap_kit::session());
}
