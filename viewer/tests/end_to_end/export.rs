//! `viewer export`: each format is read back by a reader of its own.
use std::collections::BTreeMap;
use std::process::Command;

use crate::common::{Folder, nets, viewer};

#[test]
fn folded_stacks_sum_to_the_peak() {
    let folder = Folder::new();
    let timeline = nets::resnet18();
    let file = folder.store("x.timeline.json", &timeline);
    let out = viewer(&["export", &file, "--format", "folded"]).out;
    let sum: u64 = out.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>().unwrap()).sum();
    assert_eq!(sum, timeline.peak.live_bytes);
    assert!(out.lines().any(|line| line.starts_with("forward;layer1;0;conv1;aten::conv2d;[activation] ")));
}

#[test]
fn csv_rows_of_an_instant_sum_to_its_live_bytes() {
    let folder = Folder::new();
    let timeline = nets::resnet18();
    let file = folder.store("x.timeline.json", &timeline);
    let out = folder.path("x.csv");
    let answer = viewer(&["export", &file, "--format", "csv", "-o", out.to_str().unwrap()]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    let mut sums: BTreeMap<(u64, String), u64> = BTreeMap::new();
    let text = folder.text("x.csv");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("time_ns,dimension,name,bytes"));
    for line in lines {
        let row: Vec<&str> = line.split(',').collect();
        *sums.entry((row[0].parse().unwrap(), row[1].to_owned())).or_default() += row[3].parse::<u64>().unwrap();
    }
    for (index, time_ns) in timeline.series.time_ns.iter().enumerate() {
        for dimension in ["phase", "layer", "op", "category"] {
            assert_eq!(sums[&(*time_ns, dimension.to_owned())], timeline.series.live_bytes[index]);
        }
    }
}

#[test]
fn ms_print_reads_the_massif_file_and_gives_the_same_peak() {
    if Command::new("ms_print").arg("--version").output().is_err() {
        println!("skipped: ms_print (valgrind) is not installed");
        return;
    }
    let folder = Folder::new();
    let mut timeline = nets::resnet18();
    timeline.scopes[1].layer = "{closure#0}".into();
    let file = folder.store("x.timeline.json", &timeline);
    let out = folder.path("massif.out");
    assert_eq!(viewer(&["export", &file, "--format", "massif", "-o", out.to_str().unwrap()]).code, 0);
    let printed = Command::new("ms_print").arg(&out).output().unwrap();
    let text = String::from_utf8(printed.stdout).unwrap();
    assert!(printed.status.success(), "{text}{}", String::from_utf8_lossy(&printed.stderr));
    let number = |bytes: u64| {
        let digits = bytes.to_string();
        let mut groups: Vec<&str> = digits.as_bytes().rchunks(3).map(|g| std::str::from_utf8(g).unwrap()).collect();
        groups.reverse();
        groups.join(",")
    };
    assert!(text.contains("(peak)"), "{text}");
    assert!(text.contains(&number(timeline.peak.live_bytes)), "total of the peak");
    assert!(text.contains(&number(timeline.peak.requested_bytes)), "useful heap of the peak");
    assert!(text.contains("forward") && text.contains("[activation]") || text.contains("activation"), "{text}");
}

#[test]
fn an_unknown_format_is_an_error() {
    let answer = viewer(&["export", "x", "--format", "poem"]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("folded, csv, massif"), "{}", answer.err);
}
