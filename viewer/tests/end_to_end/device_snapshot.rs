//! `viewer device-snapshot`: PyTorch's own numbers beside the model's, from a pickle.
use crate::common::{Folder, viewer};

const SNAPSHOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/gpu/handmade-snapshot.pickle");

/// The fixture's generator says where the numbers are from; `viewer/src/analysis/device_snapshot/tests.rs` has the same by
/// hand.
#[test]
fn a_snapshot_stands_beside_the_model() {
    let answer = viewer(&["device-snapshot", SNAPSHOT, "--json"]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    let json: serde_json::Value = serde_json::from_str(&answer.out).expect("JSON");
    let device = &json["devices"][0];
    for (name, bytes) in [
        ("requested_bytes", 15_728_735),
        ("allocated_bytes", 15_729_152),
        ("reserved_bytes", 23_068_672),
        ("peak_reserved_bytes", 33_554_432),
    ] {
        assert_eq!(device[name], serde_json::json!({"measured": bytes, "predicted": bytes}), "{name}");
    }
    assert_eq!((&device["requests"], &device["same_address"]), (&3.into(), &3.into()));
    assert!(device["first_difference"].is_null() && device["notes"].as_array().is_some_and(Vec::is_empty));
    insta::assert_snapshot!(viewer(&["device-snapshot", SNAPSHOT]).out);
}

#[test]
fn other_files_are_refused_with_the_next_step() {
    let folder = Folder::new();
    let whole = std::fs::read(SNAPSHOT).expect("the fixture");
    let truncated = folder.path("truncated.pickle");
    std::fs::write(&truncated, &whole[..whole.len() / 2]).expect("written");
    let number = folder.path("number.pickle");
    std::fs::write(&number, b"\x80\x04K\x01.").expect("written");
    // A class: `os.system` by name. It is refused, and nothing runs.
    let class = folder.path("class.pickle");
    std::fs::write(&class, b"cos\nsystem\n(S'true'\ntR.").expect("written");
    let text = folder.path("text.json");
    std::fs::write(&text, "{}").expect("written");
    let missing = folder.path("missing.pickle");
    for (path, said) in [
        (truncated, "damaged"),
        (number, "not a snapshot of PyTorch's allocator"),
        (class, "not a snapshot of PyTorch's allocator"),
        (text, "not a pickle"),
        (missing, "No such file"),
    ] {
        let path = path.to_str().expect("text").to_owned();
        let answer = viewer(&["device-snapshot", &path]);
        assert_eq!((answer.code, answer.out.as_str()), (2, ""), "{path}: {}", answer.err);
        assert!(answer.err.contains(&path) && answer.err.contains(said), "{}", answer.err);
        assert!(answer.err.contains("; give a file that"), "{}", answer.err);
    }
}
