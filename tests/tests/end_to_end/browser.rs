//! The HTML report in a real browser: the report of two runs is opened in headless Chromium, in a wide and in a narrow window, in
//! light and in dark. Nothing may be printed to its console, each picture must have a size, each link a target; folds, tips and
//! flamegraphs must work; and no window may be scrolled sideways.
//!
//! Chromium is the program that the variable CHROMIUM names, or the first of `chromium`, `chromium-browser` and `google-chrome` on
//! the PATH. Without one the test says that it was skipped. Pictures of the windows are kept in the folder that the variable
//! BROWSER_PICTURES names.
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use tests::{Config, Ran, folder, run, text, viewer};

/// What looks at the page from inside.
const FINDINGS: &str = include_str!("browser/findings.js");
/// A page that has the report in a frame of 400 pixels, and shows what is found there: windows of Chromium are never narrower
/// than 500.
const NARROW: &str = "<!DOCTYPE html><body style='margin:0'>\
    <iframe src='looked-at.html' style='border:0;width:400px;height:900px'></iframe><script>\
    addEventListener('message', event => {\
    const place = document.createElement('pre'); place.id = 'findings';\
    place.textContent = JSON.stringify(event.data); document.body.append(place); })</script>";

/// The browser, and the most time that it may take for one page.
struct Browser {
    program: PathBuf,
    limit: Duration,
}

impl Browser {
    /// What Chromium prints when it opens `page` with these arguments, and what it says of its console.
    fn open(&self, page: &Path, more: &[&str]) -> Ran {
        // Its own folder each time: a second Chromium in one folder would hand the page to the first.
        let profile = folder();
        let (out, err) = (profile.path().join("out"), profile.path().join("err"));
        let file = |path: &Path| Stdio::from(File::create(path).expect("a file for the output"));
        let mut child = Command::new(&self.program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--hide-scrollbars", "--enable-logging=stderr", "--virtual-time-budget=10000"])
            .arg(format!("--user-data-dir={}", text(&profile.path().join("profile"))))
            .args(more)
            .arg(format!("file://{}", text(page)))
            .stdin(Stdio::null())
            .stdout(file(&out))
            .stderr(file(&err))
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", self.program.display()));
        let began = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child can be waited for") {
                break status;
            }
            if began.elapsed() > self.limit {
                let _ = child.kill();
                let _ = child.wait();
                let said = fs::read_to_string(&err).unwrap_or_default();
                panic!("{}: not done with {} after {:?}\n{said}", self.program.display(), page.display(), self.limit);
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let read = |path: &Path| String::from_utf8_lossy(&fs::read(path).expect("the output")).into_owned();
        Ran { code: status.code(), stdout: read(&out), stderr: read(&err) }
    }

    /// What [`FINDINGS`] found in `page`.
    fn findings(&self, page: &Path, more: &[&str]) -> Value {
        let ran = self.open(page, &[more, &["--dump-dom"]].concat());
        let inside = ran.stdout.split_once("<pre id=\"findings\">").and_then(|(_, rest)| rest.split_once("</pre>"));
        let inside = inside.unwrap_or_else(|| panic!("no findings in {}\n{}", page.display(), ran.stderr)).0;
        let plain = inside.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", "\u{a0}").replace("&amp;", "&");
        serde_json::from_str(&plain).unwrap_or_else(|error| panic!("{error}: {plain}"))
    }

    /// A picture of a window, and what the page printed to its console.
    fn picture(&self, page: &Path, picture: &Path, more: &[&str]) -> Vec<String> {
        let ran = self.open(page, &[more, &[&format!("--screenshot={}", text(picture))]].concat());
        let png = fs::read(picture).unwrap_or_else(|error| panic!("no picture: {error}\n{}", ran.stderr));
        assert!(png.starts_with(b"\x89PNG") && png.len() > 10_000, "{} bytes", png.len());
        ran.stderr.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect()
    }
}

/// The browser's program, if there is one.
fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| path.is_file())
}

/// A report of a training run and of an inference run, with times and stacks.
fn report(folder: &TempDir) -> PathBuf {
    let [train, infer] =
        ["resnet18-train", "resnet18-infer"].map(|name| folder.path().join(format!("{name}.timeline.json")));
    let config = Config::train("resnet18", 2, 64, 2);
    for (mut command, out) in
        [(config.command(&train), &train), (Config { mode: "infer", ..config }.command(&infer), &infer)]
    {
        let ran = run(command.env("ALLOC_TRACKER_TIMES", "on").env("ALLOC_TRACKER_STACKS", "512KiB"));
        assert_eq!(ran.code, Some(0), "{}: {}", out.display(), ran.stderr);
    }
    let page = folder.path().join("report.html");
    let ran = viewer(&["report", text(&train), text(&infer), "-o", text(&page)]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    page
}

/// Each of a list of findings.
fn each(findings: &Value) -> &[Value] {
    findings.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// What must be so in every window.
fn hold_everywhere(found: &Value) {
    assert!(found["needed"].as_f64() <= found["width"].as_f64(), "it can be scrolled sideways: {found}");
    let pictures = each(&found["pictures"]);
    // Timeline, resident set, lanes, flamegraph and waterfall of each run at least.
    assert!(pictures.len() >= 10, "{pictures:?}");
    for picture in pictures {
        let size = |side: &str| picture[side].as_f64().unwrap_or(0.0);
        assert!(size("width") > 100.0 && size("height") > 40.0, "{picture}");
    }
    assert_eq!((each(&found["deadLinks"]), each(&found["idsTwice"])), (&[][..], &[][..]));
    assert!(each(&found["links"]).len() >= 2, "{found}");
}

#[test]
fn the_report_works_in_a_browser() {
    let Some(program) = program() else {
        println!("skipped: no Chromium is named by CHROMIUM or on the PATH (on Debian: apt-get install chromium)");
        return;
    };
    let folder = folder();
    let began = Instant::now();
    let page = report(&folder);
    // To open a page is less work than the two runs that it is about, by how much that may be the machine's business.
    let browser = Browser { program, limit: began.elapsed() * 20 };
    let original = fs::read_to_string(&page).expect("the report");
    assert!(original.contains("</body>"));
    // The script sees into the frames of the flamegraphs only where they are not sandboxed.
    let script = format!("<script>{FINDINGS}</script></body>");
    let looked_at = original.replace(" sandbox=\"allow-scripts allow-modals\"", "").replace("</body>", &script);
    let (copy, narrow) = (page.with_file_name("looked-at.html"), page.with_file_name("narrow.html"));
    fs::write(&copy, looked_at).expect("a copy");
    fs::write(&narrow, NARROW).expect("a frame");

    let kept = std::env::var_os("BROWSER_PICTURES").map_or_else(|| folder.path().to_owned(), PathBuf::from);
    let (wide, dark) = ("--window-size=1280,3000", "--blink-settings=preferredColorScheme=0");
    for (name, arguments) in [("light.png", &[wide][..]), ("dark.png", &[wide, dark])] {
        assert_eq!(browser.picture(&page, &kept.join(name), arguments), [""; 0], "{name}");
    }
    browser.picture(&narrow, &kept.join("narrow.png"), &["--window-size=500,900"]);

    let found = browser.findings(&copy, &[wide]);
    hold_everywhere(&found);
    assert_eq!((found["dark"].as_bool(), found["paper"].as_str()), (Some(false), Some("rgb(255, 255, 255)")));
    assert!(each(&found["folds"]).iter().all(|opens| opens == true) && each(&found["folds"]).len() > 2, "{found}");
    // The timeline and the lanes of each run tell something wherever the mouse is.
    assert_eq!(each(&found["tips"]).len(), 4);
    assert!(
        each(&found["tips"]).iter().all(|tip| tip.as_str().is_some_and(|told| !told.is_empty())),
        "{}",
        found["tips"]
    );
    assert!(each(&found["flames"]).len() >= 4, "{found}");
    for flame in each(&found["flames"]) {
        assert!(
            flame["told"].as_str().is_some_and(|told| told.starts_with("Owner:") || told.contains("bytes")),
            "{flame}"
        );
        assert!(flame["zoomed"].as_u64() > Some(0) && flame["back"] == 0, "{flame}");
    }
    for heading in [
        "Side by side",
        "Does it add up?",
        "Use of the machine over time",
        "Time and energy",
        "What of the peak was read again",
    ] {
        assert!(each(&found["headings"]).iter().any(|known| known == heading), "{heading} in {}", found["headings"]);
    }

    let in_dark = browser.findings(&copy, &[wide, dark]);
    hold_everywhere(&in_dark);
    assert_eq!((in_dark["dark"].as_bool(), in_dark["paper"].as_str()), (Some(true), Some("rgb(13, 17, 23)")));
    assert_eq!(in_dark["picturePaper"], "rgb(13, 17, 23)");

    let in_narrow = browser.findings(&narrow, &["--window-size=500,900"]);
    assert_eq!(in_narrow["width"], 400);
    hold_everywhere(&in_narrow);
}
