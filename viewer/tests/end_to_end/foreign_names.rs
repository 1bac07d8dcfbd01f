//! Names from files of others: they reach no terminal as codes, and no picture as characters that XML forbids.
use crate::common::{Folder, nets, viewer};
use alloc_timeline::Timeline;

/// Clears the screen, ends a line, and has one of the two other characters that XML forbids.
const NAME: &str = "a\u{1b}[2Jb\nc\u{fffe}d\u{9b}";

/// A run of which every layer, phase and the model have such a name.
fn run() -> Timeline {
    let mut timeline = nets::stem();
    timeline.run.insert("model".into(), NAME.into());
    for scope in timeline.scopes.iter_mut().skip(1) {
        scope.layer.push_str(NAME);
        scope.phase.push_str(NAME);
    }
    timeline
}

fn is_fit(text: &str) -> bool {
    text.chars().all(|c| matches!(c, '\n' | '\t') || !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}'))
}

#[test]
fn tables_and_charts_have_no_control_characters() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &run());
    for command in [&["summary"][..], &["owners"], &["series", "--by", "layer"], &["stacks"], &["reconcile"]] {
        let [name, options @ ..] = command else { continue };
        let answer = viewer(&[&[name, file.as_str()], options].concat());
        assert_eq!(answer.code, 0, "{}", answer.err);
        assert!(is_fit(&answer.out), "{command:?}\n{:?}", answer.out);
    }
    // The line end within a name ends no row.
    let owners = viewer(&["owners", &file]).out;
    assert!(owners.lines().all(|line| !line.starts_with("c\u{fffd}d")), "{owners}");
}

#[test]
fn pictures_and_pages_can_be_read() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &run());
    assert_eq!(viewer(&[&file]).code, 0);
    let page = folder.path("page.html");
    assert_eq!(viewer(&["report", &file, "-o", page.to_str().unwrap()]).code, 0);
    for name in ["x.timeline.svg", "x.flame.svg", "page.html"] {
        let text = folder.text(name);
        assert!(text.contains('\u{fffd}') && is_fit(&text), "{name}");
    }
}

#[test]
fn a_long_name_does_not_make_the_legend_wider_than_the_terminal() {
    let folder = Folder::new();
    let mut timeline = nets::stem();
    timeline.scopes.iter_mut().skip(1).for_each(|scope| scope.layer.push_str(&"x".repeat(10_000)));
    let file = folder.store("x.timeline.json", &timeline);
    let answer = viewer(&["series", &file, "--by", "layer"]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(answer.out.lines().all(|line| line.chars().count() <= 80), "{}", answer.out);
}
