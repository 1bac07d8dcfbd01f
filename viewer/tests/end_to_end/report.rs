//! `viewer report`: one page that is complete in itself.
use crate::common::{Folder, nets, viewer};

fn page(folder: &Folder) -> String {
    let resnet = folder.store("resnet18-train.timeline.json", &nets::resnet18());
    let mobilenet = folder.store("mobilenet_v1-train.timeline.json", &nets::mobilenet());
    let page = folder.path("report.html");
    let answer = viewer(&["report", &resnet, &mobilenet, "-o", page.to_str().unwrap()]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    folder.text("report.html")
}

#[test]
fn the_page_fetches_nothing() {
    let page = page(&Folder::new());
    // Nothing is fetched from the names of XML namespaces, although they look like addresses.
    let addresses: Vec<&str> = page
        .match_indices("http")
        .map(|(at, _)| &page[at..(at + 40).min(page.len())])
        .filter(|address| !address.starts_with("http://www.w3.org/"))
        .collect();
    assert_eq!(addresses, Vec::<&str>::new());
    for tag in ["<link", "<img", "src=\"", "@import", "url(h"] {
        assert!(!page.contains(tag), "{tag}");
    }
}

#[test]
fn the_page_holds_every_part_for_every_run() {
    let page = page(&Folder::new());
    assert_eq!(page.matches("<iframe").count(), 2);
    assert_eq!(page.matches("<figure class=\"picture\"><svg").count(), 2);
    for part in [
        "Side by side",
        "Who owns the peak",
        "Does it add up?",
        "Steps",
        "own peak",
        "Alive at exit",
        "itself cost",
        "Lost or unavailable",
    ] {
        assert!(page.contains(part), "{part}");
    }
    assert!(page.contains("resnet18-train holds 65.0 MiB") || page.contains("mobilenet_v1-train holds 65.0 MiB"));
    assert!(page.contains("unexplained") && page.contains("no NVIDIA driver on this machine"));
}

#[test]
fn names_cannot_break_out_of_the_page() {
    let folder = Folder::new();
    let mut timeline = nets::stem();
    timeline.run.insert("model".into(), "<script>alert(1)</script>".into());
    timeline.scopes[1].layer = "\"><img src=x>;a\u{1}".into();
    let file = folder.store("x.timeline.json", &timeline);
    let out = folder.path("r.html");
    assert_eq!(viewer(&["report", &file, "-o", out.to_str().unwrap()]).code, 0);
    let page = folder.text("r.html");
    assert!(!page.contains("<script>alert") && !page.contains("<img"));
    assert_eq!(viewer(&[&file]).code, 0);
    assert!(!folder.text("x.timeline.svg").contains("<script>"));
    assert!(!folder.text("x.flame.svg").contains("<img"));
}

#[test]
fn a_page_is_never_written_over_its_timeline() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &nets::stem());
    let before = folder.text("x.timeline.json");
    let answer = viewer(&["report", &file, "-o", &file]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("written over the file it was made from"), "{}", answer.err);
    assert_eq!(folder.text("x.timeline.json"), before);
}

#[test]
fn a_page_that_cannot_be_written_leaves_nothing_behind() {
    let folder = Folder::new();
    let file = folder.store("x.timeline.json", &nets::stem());
    let answer = viewer(&["report", &file, "-o", folder.path("none/r.html").to_str().unwrap()]);
    assert_eq!(answer.code, 2);
    assert!(answer.err.contains("none/r.html") && answer.err.contains("choose another place"), "{}", answer.err);
}
