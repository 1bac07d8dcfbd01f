//! What a layer is stands beside its name: in every table with layers, where the terminal has room, and in those of the report.
use std::path::Path;

use crate::common::{Folder, viewer};
use alloc_timeline::Timeline;
use viewer::analysis::{Measure, self_times};
use viewer::model::Run;
use viewer::view::{
    Terminal, growth_text, leaks_text, owners_text, power_text, stacks_text, summary_text, times_text, top_table,
    unread_text,
};

const LAYER: &str = "layer1.0.conv1";
/// What is left of it where a name is cut: tables of stacks keep thirteen characters of the beginning.
const BEGINNING: &str = "layer1.0.conv";
const KIND: &str = "3x3 convolution of 64 channels";
const HEAD: &str = "what the layer is";
/// Room for every column.
const TERMINAL: Terminal = Terminal { width: 300, colours: false };

/// A file of the writer's golden ones: every field holds something.
fn full() -> Timeline {
    let path = "../alloc-tracker/timeline/tests/golden/v1-derived.timeline.json";
    alloc_timeline::load(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("a golden file")
}

/// The texts with tables of layers.
fn texts(run: &Run) -> [(&'static str, String); 11] {
    let times = self_times(&run.timeline, None).expect("times");
    let stacks = |measure| stacks_text(run, measure, 20, TERMINAL);
    [
        ("top table", top_table(run, 20, TERMINAL)),
        ("summary", summary_text(run, TERMINAL)),
        ("owners", owners_text(run, 20, TERMINAL)),
        ("growth", growth_text(run, 20, TERMINAL)),
        ("leaks", leaks_text(run, 20, TERMINAL)),
        ("unread", unread_text(run, 20, TERMINAL)),
        ("power", power_text(run, 20, TERMINAL)),
        ("times", times_text(run, &times, 20, TERMINAL)),
        ("stacks of the peak", stacks(Measure::Peak)),
        ("stacks of all", stacks(Measure::Allocated)),
        ("stacks of growth", stacks(Measure::Growth)),
    ]
}

#[test]
fn every_table_with_layers_says_what_they_are() {
    for (name, text) in texts(&Run::new("x", full())) {
        let of_layer = text.lines().any(|line| line.contains(BEGINNING) && line.contains(KIND));
        assert!(of_layer && text.contains(HEAD), "{name}\n{text}");
    }
    let plain = Run::new("x", Timeline { layer_kinds: Default::default(), ..full() });
    for (name, text) in texts(&plain) {
        assert!(!text.contains(HEAD), "{name}\n{text}");
    }
}

/// In the page it stands below the name, in each of the tables that have it in a wide terminal.
#[test]
fn the_page_says_what_layers_are() {
    let folder = Folder::new();
    let file = folder.store("full.timeline.json", &full());
    let html = folder.path("page.html");
    let answer = viewer(&["report", &file, "--output", html.to_str().expect("UTF-8")]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    let page = folder.text("page.html");
    for name in [LAYER.to_owned(), format!("{LAYER} in forward"), format!("{LAYER} in forward, aten::conv2d")] {
        let said = page.matches(&format!("{name}<br><small>{KIND}</small>")).count();
        assert!(said > 0, "{name}: {said}");
    }
}

/// Derived phases and steps are said to be derived.
#[test]
fn what_was_derived_says_so() {
    let summary = summary_text(&Run::new("x", full()), TERMINAL);
    assert!(summary.contains("those marked (derived) were not named by the program"), "{summary}");
    assert!(summary.contains("derived: each ends as the first forward operator follows"), "{summary}");
}
