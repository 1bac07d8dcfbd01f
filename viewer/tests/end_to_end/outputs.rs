//! Where outputs go that are no plain files: through links, into pipes, and to standard output.
use std::fs::{self, File};
use std::os::unix::fs::{FileTypeExt, symlink};
use std::process::{Command, Stdio};

use crate::common::{Folder, nets, shown, viewer};
use alloc_timeline::Timeline;

#[test]
fn a_link_stays_and_what_it_leads_to_is_replaced() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &nets::stem());
    let (target, link) = (folder.write("target.csv", "before"), folder.path("link.csv"));
    symlink(&target, &link).unwrap();
    let answer = viewer(&["export", &file, "--format", "csv", "-o", &shown(&link)]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(link.is_symlink());
    assert_eq!(folder.text("target.csv"), viewer(&["export", &file, "--format", "csv"]).out);
}

/// As `/dev/stdout` is where standard output is a file.
#[test]
fn standard_output_by_its_path_gets_the_text_and_nothing_else() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &nets::stem());
    let mut out = File::create(folder.path("out.csv")).unwrap();
    std::io::Write::write_all(&mut out, b"above\n").unwrap();
    let link = folder.path("stdout");
    symlink("/proc/self/fd/1", &link).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_viewer"));
    command.args(["export", &file, "--format", "csv", "-o", &shown(&link)]).stdout(out);
    assert!(command.status().unwrap().success());
    assert!(link.is_symlink());
    assert_eq!(folder.text("out.csv"), format!("above\n{}", viewer(&["export", &file, "--format", "csv"]).out));
}

#[test]
fn a_recovered_timeline_and_a_picture_go_to_standard_output_alone() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &nets::mobilenet());
    let log = folder.path("y.timeline.json.log");
    alloc_timeline::log::write_all(&alloc_timeline::Assembler::new().records(), &mut File::create(&log).unwrap())
        .unwrap();
    let recovered = viewer(&["recover", &shown(&log), "-o", "/dev/stdout"]);
    assert_eq!(recovered.code, 0, "{}", recovered.err);
    assert!(serde_json::from_str::<Timeline>(&recovered.out).is_ok(), "{}", recovered.out);
    let picture = viewer(&["reconcile", &file, "--svg", "/dev/stdout"]);
    assert_eq!(picture.code, 0, "{}", picture.err);
    assert!(picture.out.starts_with("<svg") && picture.out.trim_end().ends_with("</svg>"), "{}", picture.out);
}

#[test]
fn a_pipe_takes_a_recovered_timeline() {
    let folder = Folder::new();
    let log = folder.path("x.timeline.json.log");
    alloc_timeline::log::write_all(&alloc_timeline::Assembler::new().records(), &mut File::create(&log).unwrap())
        .unwrap();
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let reader = Command::new("cat").arg(&pipe).stdout(Stdio::piped()).spawn().unwrap();
    let answer = viewer(&["recover", &shown(&log), "-o", &shown(&pipe)]);
    let read = reader.wait_with_output().unwrap().stdout;
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert!(serde_json::from_slice::<Timeline>(&read).is_ok(), "{}", String::from_utf8_lossy(&read));
}
