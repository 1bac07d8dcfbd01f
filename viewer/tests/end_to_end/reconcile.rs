//! `viewer reconcile`: the book of the peak, of a mark and of a time, as text, as JSON and as a picture.
use crate::common::books::with_books;
use crate::common::{Answer, Folder, nets, viewer};
use alloc_timeline::Timeline;
use serde_json::{Value, json};
use viewer::analysis::book_at;
use viewer::model::Run;
use viewer::view::{Terminal, reconcile_text};

fn reconcile(timeline: &Timeline, more: &[&str]) -> Answer {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", timeline);
    let answer = viewer(&[&["reconcile", &file], more].concat());
    Answer { err: folder.neutral(&answer.err), ..answer }
}

fn as_json(timeline: &Timeline, at: &str) -> Value {
    let answer = reconcile(timeline, &["--at", at, "--json"]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    serde_json::from_str(&answer.out).unwrap()
}

fn sum_of(lines: &Value) -> i64 {
    lines.as_array().unwrap().iter().map(|line| line["bytes"].as_i64().unwrap()).sum()
}

#[test]
fn text() {
    insta::assert_snapshot!(reconcile(&with_books(nets::resnet18()), &[]).out);
}

#[test]
fn text_of_a_mark_and_of_a_time() {
    let timeline = with_books(nets::resnet18());
    insta::assert_snapshot!(reconcile(&timeline, &["--at", "end of step"]).out);
    insta::assert_snapshot!(reconcile(&timeline, &["--at", "300ms"]).out);
}

#[test]
fn picture() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &with_books(nets::resnet18()));
    let picture = folder.path("x.book.svg");
    let answer = viewer(&["reconcile", &file, "--svg", picture.to_str().unwrap()]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    assert!(answer.out.ends_with("x.book.svg\n"), "{}", answer.out);
    insta::assert_snapshot!(folder.text("x.book.svg"));
}

#[test]
fn every_line_fits_the_terminal() {
    let run = Run::new("x", with_books(nets::resnet18()));
    for at in ["peak", "end of step", "300ms"] {
        let chosen = book_at(&run.timeline, at).unwrap();
        for width in [80, 100, 120, 160] {
            let text = reconcile_text(&run, chosen.as_ref(), Terminal { width, colours: false });
            let widest = text.lines().map(|line| line.chars().count()).max();
            assert!(widest <= Some(width), "{widest:?} in {width}\n{text}");
        }
    }
}

#[test]
fn the_json_of_the_peak_is_its_fine_book() {
    let timeline = with_books(nets::resnet18());
    let json = as_json(&timeline, "peak");
    let book = timeline.book.as_ref().unwrap();
    assert_eq!(json["at"], "peak");
    assert_eq!((json["coarse"].as_bool(), json["time_ns"].as_u64()), (Some(false), Some(book.time_ns)));
    assert_eq!(json["lines"], serde_json::to_value(&book.lines).unwrap());
    assert_eq!(json["beyond"], serde_json::to_value(&book.beyond).unwrap());
    assert_eq!(Some(sum_of(&json["lines"])), json["rss_bytes"].as_i64());
    // The fields of earlier versions are still there.
    assert_eq!(json["book"], serde_json::to_value(book).unwrap());
    assert_eq!((&json["lanes"][0]["name"], &json["peak"]["time_ns"]), (&json!("rss"), &json!(timeline.peak.time_ns)));
}

#[test]
fn the_json_of_a_mark_is_its_latest_book() {
    let timeline = with_books(nets::resnet18());
    let json = as_json(&timeline, "end of step");
    let latest = timeline.mark_books.last().unwrap();
    assert_eq!((json["time_ns"].as_u64(), json["coarse"].as_bool()), (Some(latest.book.time_ns), Some(false)));
    assert_eq!(json["at"], "end of step");
}

#[test]
fn the_json_of_a_time_and_of_a_mark_without_a_book_is_that_of_a_sample() {
    let timeline = with_books(nets::resnet18());
    for at in ["forward_end", "304ms"] {
        let json = as_json(&timeline, at);
        assert_eq!(json["coarse"], true);
        let sample = timeline.series.time_ns.iter().position(|time| json["time_ns"] == *time).unwrap();
        assert_eq!(json["rss_bytes"].as_u64(), timeline.series.probes["rss"][sample]);
        assert_eq!(Some(sum_of(&json["lines"])), json["rss_bytes"].as_i64());
        assert_eq!(json["lines"].as_array().unwrap().last().unwrap()["name"], "unexplained");
    }
    assert_eq!(as_json(&timeline, "304ms")["time_ns"], 300_000_000);
}

#[test]
fn errors_name_the_file_and_what_exists() {
    let newer = with_books(nets::stem());
    let answer = reconcile(&newer, &["--at", "lunch"]);
    assert_eq!((answer.code, answer.out.as_str()), (2, ""));
    let expected = "viewer: DIR/x.timeline.json: no mark is called 'lunch', and it is no time such as 1.5s or 300ms; there is \
                    'peak', any time up to 143.0 ms, and the marks 'end of step', 'forward_end'\n";
    assert_eq!(answer.err, expected);
    let answer = reconcile(&nets::stem(), &["--at", "100ms"]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("the samples of this timeline have no coarse books"), "{}", answer.err);
}

#[test]
fn without_a_book_it_says_so_and_nothing_is_drawn() {
    let mut timeline = nets::stem();
    timeline.book = None;
    let answer = reconcile(&timeline, &[]);
    assert_eq!(answer.code, 0);
    assert!(answer.out.contains("unavailable: /proc could not be read"), "{}", answer.out);
    let json = as_json(&timeline, "peak");
    assert_eq!((&json["rss_bytes"], &json["lines"], &json["rss_over_live"]), (&Value::Null, &json!([]), &Value::Null));
    let answer = reconcile(&timeline, &["--svg", "nowhere.svg"]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("it has no book, so there is nothing to draw"), "{}", answer.err);
}

#[test]
fn the_picture_is_never_written_over_its_timeline() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &with_books(nets::stem()));
    let before = folder.text("x.timeline.json");
    let answer = viewer(&["reconcile", &file, "--svg", &file]);
    assert_eq!(answer.code, 2);
    assert_eq!(folder.text("x.timeline.json"), before);
}

#[test]
fn the_summary_explains_the_difference_as_well() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &with_books(nets::resnet18()));
    let json: Value = serde_json::from_str(&viewer(&["summary", &file, "--json"]).out).unwrap();
    let why = &json["rss_over_live"];
    assert_eq!(why["difference_bytes"].as_i64(), Some(46 << 20));
    assert_eq!(sum_of(&why["causes"]), 46 << 20);
    let text = viewer(&["summary", &file]).out;
    let one_line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("Why RSS is larger than live"), "{text}");
    for sentence in why["sentences"].as_array().unwrap() {
        assert!(one_line.contains(sentence.as_str().unwrap()), "{sentence} in {text}");
    }
}

#[test]
fn the_advice_stands_in_text_and_json() {
    let timeline = with_books(nets::stem());
    let json = as_json(&timeline, "peak");
    let advice = &json["rss_over_live"]["advice"];
    assert_eq!(advice["setting"], "_RJEM_MALLOC_CONF=dirty_decay_ms:0");
    let dirty = timeline.book.as_ref().unwrap().lines.iter().find(|line| line.name == "dirty pages").unwrap();
    assert_eq!(advice["up_to_bytes"].as_i64(), Some(dirty.bytes));
    assert!(
        reconcile(&timeline, &[]).out.contains("One setting would change most: _RJEM_MALLOC_CONF=dirty_decay_ms:0")
    );
}
