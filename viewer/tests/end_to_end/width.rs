//! Every text fits a terminal of 80 columns: all commands for people, on the timelines that were ever shipped, on the committed
//! baselines, and on made-up runs. Paths of written files, verdicts for CI and formats of other tools are no such texts.
use std::path::{Path, PathBuf};

use crate::common::books::with_books;
use crate::common::times::with_step_times;
use crate::common::{Folder, nets, viewer};
use viewer::analysis::{Measure, compare};
use viewer::model::Run;
use viewer::view::{
    Terminal, compare_text, growth_text, leaks_text, lifetimes_text, owners_text, power_text, stacks_text,
    summary_text, unread_text,
};

/// The commands whose answer is text about one timeline.
const COMMANDS: [&[&str]; 12] = [
    &["summary"],
    &["reconcile"],
    &["owners"],
    &["growth"],
    &["leaks"],
    &["unread"],
    &["lifetimes"],
    &["power"],
    &["stacks"],
    &["stacks", "--of", "leaks"],
    &["stacks", "--of", "allocated"],
    &["stacks", "--of", "growth"],
];

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// All timelines in a folder of the repository.
fn timelines(folder: &str) -> Vec<PathBuf> {
    let files = std::fs::read_dir(repository(folder)).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.to_str().unwrap().ends_with(".timeline.json")).collect();
    files.sort();
    files
}

fn check(text: &str, width: usize, what: &str) {
    for line in text.lines().filter(|line| !line.starts_with("wrote ")) {
        assert!(line.chars().count() <= width, "{what}: {} columns\n{line}\n\n{text}", line.chars().count());
    }
}

#[test]
fn every_answer_fits_eighty_columns() {
    let folder = Folder::new();
    let mut files: Vec<String> = ["alloc-tracker/timeline/tests/golden", "fixtures/baselines"]
        .into_iter()
        .flat_map(timelines)
        .map(|path| path.to_str().unwrap().to_owned())
        .collect();
    assert!(files.len() >= 12, "{files:?}");
    files.push(folder.store("resnet18-train.timeline.json", &with_books(nets::resnet18())));
    files.push(folder.store("mobilenet_v1-train.timeline.json", &nets::mobilenet()));
    let timed = folder.store("timed.timeline.json", &with_step_times(nets::resnet18(), 9));
    for command in ["times", "steps"] {
        check(&viewer(&[command, &timed]).out, 80, command);
    }
    files.push(timed);
    let out = folder.path("pictures");
    for file in &files {
        for command in COMMANDS {
            let answer = viewer(&[command, &[file.as_str()]].concat());
            assert_eq!((answer.code, answer.err.as_str()), (0, ""), "{command:?} {file}");
            check(&answer.out, 80, &format!("{command:?} {file}"));
        }
        let drawn = viewer(&[file.as_str(), "--out", out.to_str().unwrap()]);
        assert_eq!(drawn.code, 0, "{}", drawn.err);
        check(&drawn.out, 80, &format!("draw {file}"));
    }
    for others in [&files[..2], &files[files.len() - 2..], &files[..5], &files[files.len() - 4..]] {
        let others: Vec<&str> = others.iter().map(String::as_str).collect();
        check(&viewer(&[&["compare"], others.as_slice()].concat()).out, 80, &format!("compare {others:?}"));
        check(&viewer(&[&["diff"], &others[..2]].concat()).out, 80, &format!("diff {others:?}"));
    }
}

/// Names of any length, and terminals of any width from 60 columns on.
#[test]
fn long_names_are_cut_and_sentences_are_broken() {
    let mut timeline = with_books(nets::resnet18());
    for scope in &mut timeline.scopes {
        if !scope.layer.is_empty() {
            scope.layer = format!("encoder.layers.11.attention.output.projection.{}", scope.layer);
            scope.op = format!("torch::autograd::generated::a_rather_long_operator::{}", scope.op);
        }
    }
    let mut other = Run::new("the-very-long-name-of-a-run-that-somebody-gave-it.timeline.json", nets::mobilenet());
    other.label = other.name.clone();
    let run = Run::new("x", timeline);
    for width in [60, 72, 80, 100, 119, 120, 140] {
        let terminal = Terminal { width, colours: false };
        let texts = [
            ("summary", summary_text(&run, terminal)),
            ("owners", owners_text(&run, 20, terminal)),
            ("growth", growth_text(&run, 20, terminal)),
            ("leaks", leaks_text(&run, 20, terminal)),
            ("unread", unread_text(&run, 20, terminal)),
            ("lifetimes", lifetimes_text(&run, terminal)),
            ("power", power_text(&run, 20, terminal)),
            ("stacks", stacks_text(&run, Measure::Peak, 20, terminal)),
            ("compare", compare_text(&compare(&[run.clone(), other.clone(), run.clone()]), false, 20, terminal)),
        ];
        for (name, text) in texts {
            check(&text, width, name);
        }
    }
}
