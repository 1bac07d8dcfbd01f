//! `viewer FILE...`: pictures beside the files, and a chart and a table on standard output.
use crate::common::books::with_books;
use crate::common::{Folder, nets, viewer};

#[test]
fn two_pictures_are_written_beside_each_file() {
    let folder = Folder::new();
    let resnet = folder.store("resnet18-train.timeline.json", &nets::resnet18());
    let mobilenet = folder.store("mobilenet_v1-train.timeline.json", &nets::mobilenet());
    let answer = viewer(&[&resnet, &mobilenet]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    for name in ["resnet18-train", "mobilenet_v1-train"] {
        let timeline = folder.text(&format!("{name}.timeline.svg"));
        assert!(timeline.starts_with("<svg") && timeline.trim_end().ends_with("</svg>"));
        assert!(!timeline.contains("NaN") && !timeline.contains("inf,"));
        let flame = folder.text(&format!("{name}.flame.svg"));
        assert!(flame.contains("bytes") && flame.contains("forward") && flame.contains("[activation]"));
    }
    assert!(answer.out.contains("Who owns the peak") && answer.out.contains("resnet18, train, batch 8, 224x224"));
    assert!(answer.out.lines().take_while(|line| !line.starts_with("Who")).all(|line| line.chars().count() <= 80));
}

#[test]
fn out_is_made_and_used() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &nets::stem());
    let out = folder.path("deep/er");
    let answer = viewer(&[&file, "--out", out.to_str().unwrap()]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(out.join("x.timeline.svg").is_file() && out.join("x.flame.svg").is_file());
    assert!(!folder.path("x.timeline.svg").exists());
}

#[test]
fn every_split_and_order_can_be_drawn() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &nets::mobilenet());
    for by in ["phase", "layer", "op", "category"] {
        let answer = viewer(&[file.as_str(), "--by", by, "--flame-order", "layer,phase,op"]);
        assert_eq!(answer.code, 0, "{}", answer.err);
        assert!(folder.text("x.timeline.svg").contains(&format!("{by} at the peak")));
    }
}

/// A run whose samples have coarse books gets a picture of the resident set; other pictures and other runs stay as they are.
#[test]
fn a_stack_up_to_the_resident_set_is_drawn_where_the_samples_have_coarse_books() {
    let folder = Folder::new();
    let older = folder.store("older.timeline.json", &nets::stem());
    let newer = folder.store("newer.timeline.json", &with_books(nets::stem()));
    let answer = viewer(&[&older, &newer]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    assert!(!folder.path("older.rss.svg").exists());
    assert!(answer.out.ends_with(&format!("wrote {}\n", folder.path("newer.rss.svg").display())), "{}", answer.out);
    assert_eq!(folder.text("older.flame.svg"), folder.text("newer.flame.svg"));
    insta::assert_snapshot!(folder.text("newer.rss.svg"));
}

#[test]
fn two_files_may_not_be_drawn_over_each_other() {
    let folder = Folder::new();
    let a = folder.store("a/x.timeline.json", &nets::stem());
    let b = folder.store("b/x.timeline.json", &nets::stem());
    let out = folder.path("out");
    let answer = viewer(&[&a, &b, "--out", out.to_str().unwrap()]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("both") && answer.err.contains("different folders"), "{}", answer.err);
    assert!(!out.exists(), "nothing is written before the names are known to be fine");
}

#[test]
fn an_output_folder_that_cannot_be_made_is_an_error() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &nets::stem());
    let in_the_way = folder.write("occupied", "a file");
    let answer = viewer(&[&file, "--out", &in_the_way]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("occupied") && answer.err.contains("choose another --out"), "{}", answer.err);
    let answer = viewer(&[&file, "--out", "/proc/no-such"]);
    assert_eq!(answer.code, 2);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &nets::mobilenet());
    let command = format!("set -o pipefail; {} summary {file} --json | head -1", env!("CARGO_BIN_EXE_viewer"));
    let output = std::process::Command::new("bash").args(["-c", &command]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"{\n"[..], &b""[..]));
}

#[test]
fn a_full_disk_is_said() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &nets::stem());
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_viewer"))
        .args(["summary", &file])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("standard output cannot be written"));
}
