//! The exact mode against another profiler: valgrind's DHAT sees every block of a process from its first instruction on
//! and knows the true peak of the requested bytes. The same program, over the C library under DHAT and over the tracker
//! in exact mode, must have the same peak, bytes and blocks (`victims/oracle_plain.rs`, `victims/oracle_tracked.rs`).
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use alloc_timeline::Timeline;
use tempfile::TempDir;
use tests::{folder, run, text};

/// The traces (`victims/trace.rs`) and their seeds.
const TRACES: [(&str, &str); 4] = [("family", "1"), ("family", "2"), ("tree", "3"), ("growing", "4")];

/// A program under a name that is as long as the other's, since a program's own name is one of its blocks.
fn named(folder: &TempDir, name: char, program: &str) -> String {
    let path = folder.path().join(name.to_string());
    symlink(program, &path).expect("a link to the program");
    text(&path).to_owned()
}

/// Bytes and blocks of DHAT's line `At t-gmax`; nothing where there is no valgrind.
fn peak_by_dhat(program: &str, out: &Path, args: &[&str]) -> Option<(u64, u64)> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=dhat", "--dhat-out-file=/dev/null", program]).arg(out).args(args);
    let output = match command.env_remove("ALLOC_TRACKER").output() {
        Err(error) => {
            eprintln!("SKIPPED: no valgrind to compare with ({error}); install valgrind");
            return None;
        }
        Ok(output) => tests::Ran::from(output),
    };
    let line = output.stderr.lines().find_map(|line| line.split_once("At t-gmax:"));
    let (_, line) = line.unwrap_or_else(|| panic!("DHAT tells no peak:\n{}", output.stderr));
    let mut numbers = line.split_whitespace().filter_map(|word| word.replace(',', "").parse().ok());
    Some((numbers.next().expect("bytes"), numbers.next().expect("blocks")))
}

fn exact(program: &str, out: &Path, args: &[&str]) -> Timeline {
    let mut command = Command::new(program);
    let ran = run(command.arg(out).args(args).env("ALLOC_TRACKER", "exact"));
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
    alloc_timeline::load(out).unwrap_or_else(|error| panic!("{args:?}: {error}"))
}

#[test]
fn the_peak_is_dhats() {
    let folder = folder();
    let plain = named(&folder, 'p', env!("CARGO_BIN_EXE_victim-oracle-plain"));
    let tracker = named(&folder, 't', env!("CARGO_BIN_EXE_victim-oracle-tracked"));
    let out = folder.path().join("run.timeline.json");
    for (trace, seed) in TRACES {
        let args = [trace, seed];
        let Some(expected) = peak_by_dhat(&plain, &out, &args) else { return };
        let timeline = exact(&tracker, &out, &args);
        let peak = timeline.peak_requested.expect("a peak of the requested bytes");
        assert_eq!((peak.bytes, peak.blocks), expected, "{args:?}");
        assert_eq!(timeline.peak.slack_bytes, 0);
        assert_eq!(timeline.run["tracker_mode"], "exact");
        assert_eq!(timeline.tracker.dropped_events, Some(0));
    }
}
