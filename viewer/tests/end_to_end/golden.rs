//! Golden files of the outputs for people. `INSTA_UPDATE=always cargo test -p viewer` writes them anew. Look at the changes
//! before you keep them.
use crate::common::{Folder, nets, viewer};

fn stem(command: &[&str]) -> String {
    let folder = Folder::new();
    let file = folder.store("stem-train.timeline.json", &nets::stem());
    let command: Vec<&str> = command.iter().map(|word| if *word == "FILE" { file.as_str() } else { word }).collect();
    let answer = viewer(&command);
    folder.neutral(&format!("{}{}", answer.out, answer.err))
}

#[test]
fn chart_and_top_table() {
    insta::assert_snapshot!(stem(&["FILE"]));
}

#[test]
fn summary_text() {
    insta::assert_snapshot!(stem(&["summary", "FILE"]));
}

#[test]
fn reconcile_text() {
    insta::assert_snapshot!(stem(&["reconcile", "FILE"]));
}

#[test]
fn summary_json() {
    insta::assert_snapshot!(stem(&["summary", "FILE", "--json"]));
}

#[test]
fn folded() {
    insta::assert_snapshot!(stem(&["export", "FILE", "--format", "folded"]));
}

#[test]
fn compare_text() {
    let folder = Folder::new();
    let mobilenet = folder.store("mobilenet_v1-train.timeline.json", &nets::mobilenet());
    let resnet = folder.store("resnet18-train.timeline.json", &nets::resnet18());
    insta::assert_snapshot!(viewer(&["compare", &mobilenet, &resnet]).out);
    insta::assert_snapshot!(viewer(&["compare", &mobilenet, &resnet, &mobilenet, "--top", "3"]).out);
}

#[test]
fn check_text() {
    let folder = Folder::new();
    let checked = folder.store("checked.timeline.json", &nets::mobilenet());
    let baseline = folder.store("baseline.timeline.json", &nets::resnet18());
    let refused = viewer(&["check", &checked, "--baseline", &baseline]);
    let failed = viewer(&["check", &checked, "--baseline", &baseline, "--force", "--max-growth", "20MiB"]);
    insta::assert_snapshot!(folder.neutral(&format!("{}{}", refused.err, failed.out)));
}

#[test]
fn timeline_svg() {
    let folder = Folder::new();
    let file = folder.store("stem-train.timeline.json", &nets::stem());
    viewer(&[&file]);
    insta::assert_snapshot!(folder.text("stem-train.timeline.svg"));
}
