//! The study on real runs: a row that is killed goes on with what it lacks, and its page is made of what was measured.
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::common::command;
use serde_json::Value;

/// Row 9 quick: four runs of ResNet-18 on one small image each. Paths of data begin at the workspace.
fn row_9(out: &Path) -> Command {
    let mut command = command(&["reproduce", "9", "--quick", "--out", &out.display().to_string()]);
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    command
}

/// The measurements in a file of results; none while it is not there.
fn measured(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let results: Value = serde_json::from_str(&text).unwrap_or_default();
    results["measured"].as_array().cloned().unwrap_or_default()
}

#[test]
fn a_killed_row_goes_on_and_has_its_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("pages");
    let mut child = row_9(&out).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts");
    let begun = out.join("running/9-quick/results.json");
    // How long a run takes is the machine's affair: the only limit is that the child is still there.
    while measured(&begun).is_empty() {
        assert!(child.try_wait().expect("a child").is_none(), "it ended before anything was measured");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().expect("killed");
    child.wait().expect("ended");
    let before = measured(&begun);
    assert!(!out.join("results/9-quick.json").exists(), "a row that is not complete has no results");

    let ran = row_9(&out).output().expect("the binary starts");
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(0), "{said}");
    let after = measured(&out.join("results/9-quick.json"));
    assert_eq!(after.len(), 4);
    assert_eq!(after[..before.len()], before[..], "what was measured before the kill is not measured again");
    assert!(!out.join("running/9-quick").exists());
    let page = fs::read_to_string(out.join("row-09-quick.md")).expect("a page");
    assert!(page.contains("adam: state beside the parameters | 2 times, by its definition | 2.0000 times"), "{page}");
    assert!(page.contains("**reproduced**"), "{page}");
    assert!(fs::read_to_string(out.join("row-09-quick-state.svg")).expect("a picture").starts_with("<svg"));
    let index = fs::read_to_string(out.join("index.md")).expect("an index");
    assert!(index.contains("[The optimizer decides whether a network fits](row-09-quick.md)"), "{index}");

    // Nothing is left to do.
    let again = row_9(&out).output().expect("the binary starts");
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(again.status.success() && said.contains("row 9: measured before by this commit"), "{said}");
    assert_eq!(measured(&out.join("results/9-quick.json")), after);
}
