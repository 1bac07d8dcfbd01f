//! Files that are no timelines end with exit code 2 and a message that names the file, the problem and the next step.
use crate::common::{Folder, nets, viewer};

/// The name and the content of each file, and a part of the message about it.
fn bad_files() -> Vec<(&'static str, String, &'static str)> {
    let good = serde_json::to_string(&nets::stem()).unwrap();
    let peak = format!(
        "\"live_bytes\":{},\"requested_bytes\":{}",
        nets::stem().peak.live_bytes,
        nets::stem().peak.requested_bytes
    );
    assert!(good.contains(&peak));
    vec![
        ("empty.json", String::new(), "is empty"),
        ("blank.json", " \n\t".to_owned(), "is empty"),
        ("truncated.json", good[..good.len() / 2].to_owned(), "truncated"),
        ("text.json", "Hello, world".to_owned(), "not a timeline"),
        ("other.json", "{\"a\": 1}".to_owned(), "not a timeline"),
        ("array.json", "[1, 2]".to_owned(), "not a timeline"),
        ("newer.json", good.replace("\"format_version\":1", "\"format_version\":2"), "newer"),
        ("damaged.json", good.replace(&peak, "\"live_bytes\":1,\"requested_bytes\":1"), "damaged"),
    ]
}

#[test]
fn every_command_says_which_file_is_bad_and_why() {
    let folder = Folder::new();
    let good = folder.store("good.timeline.json", &nets::stem());
    for (name, content, said) in bad_files() {
        let bad = folder.write(name, content);
        let page = folder.path("r.html");
        let commands: Vec<Vec<&str>> = vec![
            vec![&bad],
            vec!["summary", &bad],
            vec!["summary", &bad, "--json"],
            vec!["compare", &good, &bad],
            vec!["diff", &bad, &good],
            vec!["report", &good, &bad, "-o", page.to_str().unwrap()],
            vec!["check", &good, "--baseline", &bad],
            vec!["reconcile", &bad],
            vec!["export", &bad, "--format", "csv"],
        ];
        for command in commands {
            let answer = viewer(&command);
            assert_eq!((answer.code, answer.out.as_str()), (2, ""), "{command:?}: {}", answer.err);
            assert!(answer.err.contains(name) && answer.err.contains(said), "{command:?}: {}", answer.err);
            assert!(answer.err.contains("; "), "the next step is missing: {}", answer.err);
        }
        assert!(!page.exists());
    }
}

#[test]
fn every_problem_is_told_at_once() {
    let folder = Folder::new();
    let paths: Vec<String> = bad_files().into_iter().map(|(name, content, _)| folder.write(name, content)).collect();
    let answer = viewer(&paths);
    assert_eq!(answer.code, 2);
    for (name, _, said) in bad_files() {
        let line = answer.err.lines().find(|line| line.contains(name)).unwrap_or_default();
        assert!(line.contains(said), "{name}: {}", answer.err);
    }
}

#[test]
fn a_missing_file_and_a_folder_are_errors() {
    let folder = Folder::new();
    let answer = viewer(&[folder.path("none.json")]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("none.json") && answer.err.contains("check the path"), "{}", answer.err);
    assert_eq!(viewer(&[folder.path("")]).code, 2);
}

#[test]
fn a_wrong_command_line_exits_with_2_and_help_with_0() {
    for wrong in [
        &["--no-such"][..],
        &["check"],
        &["compare", "a"],
        &[],
        &["x", "--by", "colour"],
        &["x", "--flame-order", "op"],
    ] {
        assert_eq!(viewer(wrong).code, 2, "{wrong:?}");
    }
    assert_eq!(viewer(&["--help"]).code, 0);
    assert_eq!(viewer(&["--version"]).code, 0);
}
