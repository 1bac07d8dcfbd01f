//! `viewer check`: runs that fail, runs that pass, and runs that cannot be compared.
use crate::common::{Answer, Folder, nets, viewer};
use alloc_timeline::{Category, Timeline};
use serde_json::Value;

/// The run of the stem with more bytes in the first row of a category.
fn grown(category: Category, bytes: u64) -> Timeline {
    let mut timeline = nets::stem();
    let row = timeline.peak.rows.iter_mut().find(|row| row.category == category).unwrap();
    row.usable_bytes += bytes;
    timeline.peak.live_bytes += bytes;
    timeline
}

fn check(folder: &Folder, checked: &Timeline, baseline: &Timeline, more: &[&str]) -> Answer {
    let checked = folder.store("checked.timeline.json", checked);
    let baseline = folder.store("baseline.timeline.json", baseline);
    viewer(&[&["check", &checked, "--baseline", &baseline], more].concat())
}

#[test]
fn equal_runs_pass_with_one_line() {
    let answer = check(&Folder::new(), &nets::stem(), &nets::stem(), &[]);
    assert_eq!((answer.code, answer.out.lines().count()), (0, 1), "{answer:?}");
    assert!(answer.out.starts_with("ok: ") && answer.out.contains("no growth in tensors"), "{}", answer.out);
}

#[test]
fn a_byte_of_activation_fails_and_is_named_with_its_phase_and_layer() {
    let answer = check(&Folder::new(), &grown(Category::Activation, 64), &nets::stem(), &[]);
    assert_eq!((answer.code, answer.err.as_str()), (1, ""));
    assert!(answer.out.contains("category activation: ") && answer.out.contains("+64 (allowed 0)"), "{}", answer.out);
    assert!(answer.out.contains("phase ") && answer.out.contains("layer "), "{}", answer.out);
}

#[test]
fn metadata_may_jitter_unless_a_limit_is_given() {
    let folder = Folder::new();
    let jitter = grown(Category::Runtime, 100);
    assert_eq!(check(&folder, &jitter, &nets::stem(), &[]).code, 0);
    assert_eq!(check(&folder, &jitter, &nets::stem(), &["--max-growth", "99"]).code, 1);
    assert_eq!(check(&folder, &jitter, &nets::stem(), &["--max-growth", "64KiB"]).code, 0);
    assert_eq!(check(&folder, &jitter, &nets::stem(), &["--max-growth", "1%"]).code, 0);
}

#[test]
fn shrinking_passes_and_is_said() {
    let answer = check(&Folder::new(), &nets::stem(), &grown(Category::Activation, 64), &[]);
    assert_eq!(answer.code, 0);
    assert!(answer.out.contains("shrank: category activation (-64 bytes) and 2 more"), "{}", answer.out);
}

#[test]
fn runs_of_different_work_are_not_compared() {
    let folder = Folder::new();
    let mut other = nets::stem();
    other.run.insert("batch".into(), 4.into());
    other.run.remove("image_size");
    let answer = check(&folder, &other, &nets::stem(), &[]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("batch is 4 in the checked run and 1 in the baseline"), "{}", answer.err);
    assert!(
        answer.err.contains("image_size is not given in the checked run and 224 in the baseline"),
        "{}",
        answer.err
    );
    assert!(answer.err.contains("--force"), "{}", answer.err);
    assert_eq!(check(&folder, &other, &nets::stem(), &["--force"]).code, 0);
}

#[test]
fn json_says_the_same() {
    let answer = check(&Folder::new(), &grown(Category::Parameter, 64), &nets::stem(), &["--json"]);
    let json: Value = serde_json::from_str(&answer.out).unwrap();
    assert_eq!((answer.code, &json["passed"]), (1, &Value::Bool(false)));
    let first = &json["failures"][0];
    assert_eq!((&first["dimension"], &first["name"]), (&Value::from("category"), &Value::from("parameter")));
    let moved = first["after_bytes"].as_u64().unwrap() - first["before_bytes"].as_u64().unwrap();
    assert_eq!(moved, 64);
}

#[test]
fn a_missing_baseline_and_a_wrong_limit_are_errors() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &nets::stem());
    let none = folder.path("none.timeline.json");
    let answer = viewer(&["check", &file, "--baseline", none.to_str().unwrap()]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("none.timeline.json"), "{}", answer.err);
    let answer = viewer(&["check", &file, "--baseline", &file, "--max-growth", "lots"]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("'lots' is no limit"), "{}", answer.err);
    assert_eq!(viewer(&["check", &file]).code, 2);
}

/// A gate that compares nothing would be green for ever.
#[test]
fn runs_without_tensors_are_not_said_to_be_fine() {
    let folder = Folder::new();
    let mut bare = nets::stem();
    bare.peak.rows.iter_mut().for_each(|row| row.category = Category::Other);
    let file = folder.store("x.timeline.json", &bare);
    let answer = viewer(&["check", &file, "--baseline", &file]);
    assert_eq!(answer.code, 2, "{}", answer.out);
    assert!(answer.err.contains("nothing was compared; --max-growth"), "{}", answer.err);
    assert_eq!(viewer(&["check", &file, "--baseline", &file, "--max-growth", "1%"]).code, 0);
}
