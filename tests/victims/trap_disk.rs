//! Sessions on a disk that is full or may not be written to, at `disk` beside the first argument. The second says
//! which.
use std::fs::File;
use std::hint::black_box;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use alloc_interpose as _;
use alloc_tracker::{Session, SessionError, layer};

mod trap_kit;
use trap_kit::*;

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

/// Writes zeroes until there is no more room.
fn fill(path: &Path) {
    let mut file = File::create(path).expect("a file");
    while file.write_all(&[0; 4096]).is_ok() {}
}

/// Waits until the recorder has filled the last page that the log has. It fails at the next one.
fn wait_for_the_end(log: &Path) {
    // SAFETY: sysconf only tells a number.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let began = Instant::now();
    while !std::fs::metadata(log).expect("the log").len().is_multiple_of(page) {
        assert!(began.elapsed() < HANGS, "the log does not reach the end of its page");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Allocates and keeps the disk full until the log has had enough of it.
fn record(disk: &Path, session: &Session) {
    let mut held = Vec::new();
    for round in 0..30 {
        let _layer = layer!(&format!("layer{round}"));
        held.push(black_box(vec![1u8; 100_000]));
        session.mark("a mark");
        fill(&disk.join(format!("filler {round}")));
        thread::sleep(Duration::from_millis(10));
    }
    wait_for_the_end(&disk.join("run.timeline.json.log"));
    check("the program goes on", held.iter().map(Vec::len).sum::<usize>(), 3_000_000);
}

fn main() {
    let disk = PathBuf::from(output().expect("a timeline")).with_file_name("disk");
    let path = disk.join("run.timeline.json");
    let start = || Session::builder().output(&path).start();
    if trick() == "read-only" {
        check("refused", matches!(start(), Err(SessionError::Output { .. })), true);
    } else {
        let session = start().expect("there is room to begin with");
        record(&disk, &session);
        let failed = session.finish().expect_err("there is no room for the timeline");
        check_that("the error names the log", failed.to_string().contains("run.timeline.json.log"), failed);
        check("no half of a timeline", path.exists(), false);

        for round in 0..30 {
            let _ = std::fs::remove_file(disk.join(format!("filler {round}")));
        }
        let session = start().expect("there is room again");
        record(&disk, &session);
        for round in 0..30 {
            let _ = std::fs::remove_file(disk.join(format!("filler {round}")));
        }
        let report = session.finish().expect("there is room for the timeline");
        check_that("the report says what was lost", report.losses[0].contains("ends early"), &report.losses);
        let timeline = alloc_timeline::load(&path).expect("a whole timeline");
        check("so does the timeline", timeline.tracker.losses, report.losses);
    }
    finish(session());
}
