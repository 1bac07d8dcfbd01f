//! What a process that records has of its children (`victims/children.rs`): their number, their resident sets, and what they take in truth.
use std::process::Command;

use alloc_timeline::{ChildProcesses, Timeline};
use serde_json::Value;
use tests::{folder, run, text, viewer};

const VICTIM: &str = env!("CARGO_BIN_EXE_victim-children");
const MIB: i64 = 1 << 20;
/// The parent goes on to write its timeline: pages of its own, and those that it no longer shares with the child.
const PARENTS: i64 = 3 * MIB;

#[derive(Debug)]
struct Change {
    rss: i64,
    pss: i64,
    private: i64,
    own_pss: i64,
}

/// By how much one reading is more than the one before.
fn change([before, after]: [&ChildProcesses; 2]) -> Change {
    let more = |of: fn(&ChildProcesses) -> Option<u64>| {
        of(after).expect("it was read") as i64 - of(before).expect("it was read") as i64
    };
    Change {
        rss: more(|children| Some(children.rss_bytes)),
        pss: more(|children| children.pss_bytes),
        private: more(|children| children.private_bytes),
        own_pss: more(|children| children.own_pss_bytes),
    }
}

fn is_about(bytes: i64, mib: i64) -> bool {
    (bytes - mib * MIB).abs() <= PARENTS
}

/// The entries of a column that have a value.
fn column<'a>(timeline: &'a Timeline, name: &str) -> Vec<&'a u64> {
    timeline.series.probes[name].iter().flatten().collect()
}

#[test]
fn what_children_take_is_told_page_by_page() {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let mut command = Command::new(VICTIM);
    command.arg(&out).env("ALLOC_TRACKER", "on").env_remove("ALLOC_TRACKER_STACKS");
    let ran = run(&mut command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines = ran.stdout.lines().map(|line| serde_json::from_str(line).expect("a reading"));
    let read: Vec<ChildProcesses> = lines.collect();
    let [forked, written, mapped] = &read[..] else { panic!("{read:?}") };
    for one in &read {
        assert_eq!((one.processes, one.unread, one.reasons.len()), (1, 0, 0), "{one:?}");
    }
    // All that the child has is inherited. Of the 64 MiB it is charged half.
    let (rss, pss) = (forked.rss_bytes as i64, forked.pss_bytes.expect("it was read") as i64);
    assert!(rss >= 64 * MIB && pss >= 32 * MIB && pss <= rss - 32 * MIB + PARENTS, "{forked:?}");
    assert!((forked.private_bytes.expect("it was read") as i64) < PARENTS, "{forked:?}");
    // 32 MiB of pages of which each had half become two pages, each whole: 16 MiB more for both. The child's resident set has as many
    // pages as before.
    let copied = change([forked, written]);
    assert!(is_about(copied.rss, 0) && is_about(copied.pss, 16) && is_about(copied.private, 32), "{copied:?}");
    assert!(is_about(copied.own_pss, 16), "{copied:?}");
    // 32 MiB that the child alone has had from the start.
    let own = change([written, mapped]);
    assert!(is_about(own.rss, 32) && is_about(own.pss, 32) && is_about(own.private, 32), "{own:?}");
    assert!(is_about(own.own_pss, 0), "{own:?}");

    let timeline = alloc_timeline::load(&out).expect("the timeline");
    assert_eq!(timeline.child_processes.as_ref(), Some(mapped), "at which they took most");
    let numbers = column(&timeline, "child_processes");
    assert!(numbers.iter().all(|&&number| number <= 1) && numbers.contains(&&1), "{numbers:?}");
    for name in ["children_rss", "children_pss", "own_pss"] {
        assert!(column(&timeline, name).iter().any(|&&bytes| bytes as i64 > 32 * MIB), "{name}");
    }

    let said = viewer(&["reconcile", text(&out)]).stdout;
    assert!(said.contains("\nChild processes\n  1 child process at "), "{said}");
    assert!(said.contains("\n  Together with this process, which has "), "{said}");
    let json: Value = serde_json::from_str(&viewer(&["summary", "--json", text(&out)]).stdout).expect("JSON");
    assert_eq!(json["child_processes"]["pss_bytes"], mapped.pss_bytes.expect("it was read"));
}
