//! Handles and guards that are dropped late, names that mean something else, and settings at the end of their range.
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use alloc_interpose as _;
use alloc_tracker::{Session, SessionError, layer, phase};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const MIB: usize = 1 << 20;

/// Rust makes the guard of the next step before it drops that of the step before. Yet each step has its 4 MiB.
fn steps(folder: &Path) {
    let path = folder.join("steps.timeline.json");
    let session = Session::builder().output(&path).start().expect("a session");
    let mut _step = session.step();
    for _ in 0..3 {
        drop(black_box(vec![1u8; 4 * MIB]));
        _step = session.step();
    }
    drop(_step);
    session.finish().expect("a timeline");
    let timeline = alloc_timeline::load(&path).expect("a timeline");
    let peaks: Vec<u64> = timeline.steps.iter().map(|step| step.live_bytes).collect();
    check_that("each step has its peak", peaks.len() == 4 && peaks[..3].iter().all(|&peak| peak > 4 << 20), peaks);
}

/// A child starts a session of its own, and drops the handle of its parent's.
fn in_a_child(folder: &Path) {
    let session = Session::builder().output(folder.join("parent.timeline.json")).start().expect("a session");
    // SAFETY: the child allocates, starts a thread and ends, which the tracker lets a child do.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let own = Session::builder().output(folder.join("child.timeline.json")).start().expect("a session");
        drop(session);
        drop(black_box(vec![1u8; 4 * MIB]));
        let peak = own.finish().map_or(0, |report| report.peak_bytes);
        // SAFETY: ends the child without its parent's handlers.
        unsafe { libc::_exit(i32::from(peak < 4 << 20)) };
    }
    let mut status = 0;
    // SAFETY: the status is valid for writing.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    check("a child's session ends by its own handle", status, 0);
    check("and the parent's by the parent's", session.finish().is_ok(), true);
}

/// A phase that is called like what files say for none, and more marks than there are names.
fn names(folder: &Path) {
    let path = folder.join("names.timeline.json");
    let session = Session::builder().output(&path).start().expect("a session");
    {
        let _phase = phase!("(none)");
        let _layer = layer!("(none)");
        drop(black_box(vec![1u8; 4 * MIB]));
    }
    for number in 0..70_000 {
        session.mark(&format!("mark {number}"));
    }
    let kept = {
        let _layer = layer!("after the marks");
        black_box(vec![1u8; 4 * MIB])
    };
    session.finish().expect("a timeline");
    drop(kept);
    let timeline = alloc_timeline::load(&path).map_err(|error| error.to_string());
    let layers = timeline.map(|timeline| timeline.scopes.iter().any(|scope| scope.layer == "after the marks"));
    check("marks take no names of layers", layers, Ok(true));
}

fn settings(folder: &Path) {
    for path in [folder, Path::new("")] {
        let refused = Session::builder().output(path).start();
        check("a folder is no file", matches!(refused, Err(SessionError::Output { .. })), true);
        let message = refused.err().map(|error| error.to_string()).unwrap_or_default();
        check_that("the message has the reason", message.contains("is a directory"), message);
    }
    let path = folder.join("rare.timeline.json");
    let session = Session::builder().output(&path).interval(Duration::MAX).start().expect("a session");
    std::thread::sleep(Duration::from_millis(200));
    session.finish().expect("a timeline");
    let samples = alloc_timeline::load(&path).expect("a timeline").series.time_ns.len();
    check_that("an interval that never ends", samples <= 4, samples);
}

fn main() {
    println!("began");
    let folder = tempfile::tempdir().expect("a folder");
    if is_off() {
        println!("ok nothing records");
    } else {
        steps(folder.path());
        in_a_child(folder.path());
        names(folder.path());
        settings(folder.path());
    }
    finish(session());
}
