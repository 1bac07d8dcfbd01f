//! Python's calls in sampled stacks: `python_frames/script.py` allocates in lines of which it says what they hold.
use std::fs;
use std::path::Path;

use alloc_timeline::{Call, Site, Timeline};
use tests::{folder, run, text, viewer};

use super::python_api::{own_python, recorded_alone};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/end_to_end/python_frames/script.py");
const MIB: u64 = 1 << 20;
/// A bytearray has a byte more than it holds, and its block is of whole pages.
const PAGE: u64 = 4 << 10;

/// What a line of the script holds.
#[derive(Debug)]
struct Line {
    function: String,
    number: u32,
    bytes: u64,
}

fn lines() -> Vec<Line> {
    let script = fs::read_to_string(SCRIPT).expect("the script");
    let line = |(index, text): (usize, &str)| {
        let (_, said) = text.split_once("# HOLDS ")?;
        let [function, mib, blocks] = said.split(' ').collect::<Vec<_>>()[..] else { panic!("{said}") };
        let number = |text: &str| text.parse::<u64>().expect("a number");
        let bytes = number(mib) * MIB + number(blocks) * PAGE;
        Some(Line { function: function.to_owned(), number: index as u32 + 1, bytes })
    };
    script.lines().enumerate().filter_map(line).collect()
}

/// A site's calls, the innermost first.
fn calls<'a>(timeline: &'a Timeline, site: &Site) -> Vec<&'a Call> {
    let stacks = timeline.stacks.as_ref().expect("stacks");
    site.calls.iter().rev().map(|&call| &stacks.calls[call as usize]).collect()
}

/// Those that are Python's.
fn pythons<'a>(timeline: &'a Timeline, site: &Site) -> Vec<&'a Call> {
    let all = calls(timeline, site).into_iter();
    all.filter(|call| call.language.as_deref() == Some("Python")).collect()
}

/// The sites whose innermost Python call is here.
fn sites<'a>(timeline: &'a Timeline, file: &'a str, line: u32) -> impl Iterator<Item = &'a Site> {
    let is_here = move |site: &&Site| {
        let innermost = pythons(timeline, site).first().copied();
        innermost.is_some_and(|call| call.file.as_deref() == Some(file) && call.line == Some(line))
    };
    timeline.stacks.as_ref().expect("stacks").sites.iter().filter(is_here)
}

/// The one with the most bytes. (The lists that hold the blocks are allocated here too, by other calls.)
fn site<'a>(timeline: &'a Timeline, file: &'a str, line: u32) -> &'a Site {
    let most = sites(timeline, file, line).max_by_key(|site| site.sums.allocated_bytes);
    most.unwrap_or_else(|| panic!("no site at {file}:{line}"))
}

/// What the script's blocks take that are allocated here. There may be more than one site of them: from 3.14 on, the first round of a
/// loop gets to its block by another way through the interpreter than the others.
fn bytes_of_blocks(timeline: &Timeline, file: &str, line: u32) -> u64 {
    sites(timeline, file, line).map(|site| site.sums.allocated_bytes).filter(|&bytes| bytes >= MIB).sum()
}

fn load(path: &Path) -> Timeline {
    alloc_timeline::load(path).unwrap_or_else(|error| panic!("{error}"))
}

/// Every block is 64 times the mean distance and more: a sample stands for its block alone.
#[test]
fn lines_of_python_hold_what_they_allocated() {
    let (Some(python), folder) = (own_python(), folder()) else { return };
    let ran = run(&mut recorded_alone(&python, folder.path(), &["--quiet", "--stacks", "16KiB"], SCRIPT));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let path = folder.path().join("run.timeline.json");
    let timeline = load(&path);
    assert_eq!(timeline.run["python_frames"], "told");
    let (in_child, in_parent): (Vec<Line>, Vec<Line>) =
        lines().into_iter().partition(|line| line.function == "<module>");
    assert_eq!((in_child.len(), in_parent.len()), (1, 6));
    for line in &in_parent {
        check(&timeline, SCRIPT, line);
    }
    // Each was made when the one before was gone.
    for number in 0..20 {
        let line = Line { function: format!("made_{number:02}"), number: 2, bytes: MIB + PAGE };
        check(&timeline, &format!("made {number:02}"), &line);
    }

    let line_of = |name: &str| in_parent.iter().find(|line| line.function == name).expect("a line").number;
    let names = |function: &str| {
        let found = pythons(&timeline, site(&timeline, SCRIPT, line_of(function)));
        found.into_iter().map(|call| call.function.as_str()).collect::<Vec<_>>()
    };
    // Up to 3.11 a comprehension is a function.
    let collate = names("collate");
    assert!(collate.ends_with(&["collate", "load", "<module>"]), "{collate:?}");
    assert_eq!(names("blocks"), ["blocks", "<module>"]);
    // Of a recursion, all 101 calls, whether one call of the interpreter's function runs them all or each has its own.
    assert_eq!(names("deep"), [vec!["deep"; 101], vec!["<module>"]].concat());
    assert!(names("on_a_thread")[1].ends_with("run"), "{:?}", names("on_a_thread"));

    // `sorted` is called by one function and calls the other.
    let key = calls(&timeline, site(&timeline, SCRIPT, line_of("key")));
    let python: Vec<usize> = (0..key.len()).filter(|&place| key[place].language.is_some()).collect();
    assert!(python.len() == 3 && python[0] > 0 && python[1] > python[0] + 1, "{key:?}");

    check_child(folder.path(), &in_child[0]);
    check_viewer(&path, line_of("collate"));
}

fn check(timeline: &Timeline, file: &str, line: &Line) {
    assert_eq!(bytes_of_blocks(timeline, file, line.number), line.bytes, "{line:?}");
    let calls = calls(timeline, site(timeline, file, line.number));
    let told = calls.iter().find(|call| call.language.is_some()).expect("Python's");
    // From 3.11 on a function has the name of what it is in; a comprehension is one up to 3.11.
    let function = told.function.trim_end_matches("<listcomp>").trim_end_matches(".<locals>.");
    assert!(function == line.function || function.is_empty(), "{told:?} for {line:?}");
    let evaluations = calls.iter().filter(|call| call.function == "_PyEval_EvalFrameDefault");
    assert_eq!(evaluations.count(), 0, "each gave its place to what it ran");
    let object = told.object.as_deref().expect("the interpreter");
    assert!(object.contains("python"), "{object}");
}

/// The child's own timeline, which lies beside the parent's.
fn check_child(folder: &Path, line: &Line) {
    let entries = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    let others: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter(|path| !path.ends_with("run.timeline.json"))
        .collect();
    let [child] = &others[..] else { panic!("one child: {others:?}") };
    check(&load(child), SCRIPT, line);
}

fn check_viewer(path: &Path, line: u32) {
    let told = viewer(&["stacks", "--by", "stack", text(path)]).stdout;
    let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains(&format!("collate (script.py:{line}) < load (script.py:")), "{told}");
    assert!(viewer(&["stacks", "--by", "object", text(path)]).stdout.contains("python"));
    assert!(viewer(&["stacks", "--by", "thread", text(path)]).stdout.contains("python"));
}

#[test]
fn without_stacks_nothing_is_tried() {
    let (Some(python), folder) = (own_python(), folder()) else { return };
    let script = folder.path().join("script.py");
    fs::write(&script, "").expect("a file");
    let ran = run(&mut recorded_alone(&python, folder.path(), &["--quiet", "--stacks", "off"], text(&script)));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let timeline = load(&folder.path().join("run.timeline.json"));
    assert_eq!(timeline.run.get("python_frames"), None);
    assert!(timeline.run.contains_key("parent_pid"), "facts are told");
}
