//! What documents name is there: the files and headings that links and pictures lead to, and the files of the glossary.
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use crate::ROOT;

/// Folders that a path in the glossary may begin with; every other path begins in the tracker's sources.
const FROM_ROOT: [&str; 5] = ["viewer/", "trainer/", "xtask/", "tests/", "docs/"];
const FROM_TRACKER: [&str; 4] = ["replay/", "timeline/", "preload/", "torch/"];

/// The pages that are read by people: README.md and all below docs/.
fn pages() -> Vec<PathBuf> {
    let (mut pages, mut folders) = (vec![Path::new(ROOT).join("README.md")], vec![Path::new(ROOT).join("docs")]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("docs/ is readable") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

fn text(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// The targets of a page's links and pictures.
fn targets(page: &str) -> Vec<String> {
    let target = |event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => Some(dest_url.into_string()),
        _ => None,
    };
    Parser::new_ext(page, Options::ENABLE_TABLES).filter_map(target).collect()
}

/// The names by which links reach a page's headings: in small letters, without punctuation, a hyphen for each space. The second heading with
/// the same words has `-1` behind them, and so on.
fn headings(page: &str) -> BTreeSet<String> {
    let (mut names, mut heading) = (BTreeSet::new(), None::<String>);
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::Text(words) | Event::Code(words) => {
                heading.iter_mut().for_each(|heading| heading.push_str(&words));
            }
            Event::End(TagEnd::Heading(_)) => {
                let words = heading.take().unwrap_or_default().to_lowercase();
                let is_kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
                let name: String = words.chars().filter(is_kept).collect::<String>().replace(' ', "-");
                let name = std::iter::once(name.clone())
                    .chain((1..).map(|number| format!("{name}-{number}")))
                    .find(|name| !names.contains(name))
                    .unwrap_or(name);
                names.insert(name);
            }
            _ => {}
        }
    }
    names
}

/// Why a link on a page leads nowhere. Addresses beyond the project are not looked at.
fn problem(page: &Path, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, heading) = target.split_once('#').map_or((target, None), |(file, heading)| (file, Some(heading)));
    let path = if file.is_empty() { page.to_owned() } else { page.parent()?.join(file) };
    if !path.exists() {
        return Some(format!("{target}: no such file"));
    }
    let heading = heading.filter(|_| path.extension().is_some_and(|extension| extension == "md"))?;
    (!headings(&text(&path)).contains(heading)).then(|| format!("{target}: no such heading"))
}

#[test]
fn links_and_pictures_lead_somewhere() {
    let broken = |page: PathBuf| {
        let page_text = text(&page);
        let problems: Vec<String> = targets(&page_text).iter().filter_map(|target| problem(&page, target)).collect();
        problems.into_iter().map(move |problem| format!("{}: {problem}", page.display()))
    };
    let broken: Vec<String> = pages().into_iter().flat_map(broken).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_glossary_names_files_that_are_there() {
    let glossary = text(&Path::new(ROOT).join("docs/GLOSSARY.md"));
    let rows = glossary.lines().filter(|line| line.starts_with("| ")).skip(1);
    let files = rows.flat_map(|row| {
        let cell = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        cell.split('`').skip(1).step_by(2)
    });
    let missing: Vec<&str> = files
        .filter(|file| {
            let begins_with = |folders: &[&str]| folders.iter().any(|folder| file.starts_with(folder));
            let folder = match () {
                () if begins_with(&FROM_ROOT) => "",
                () if begins_with(&FROM_TRACKER) => "alloc-tracker/",
                () => "alloc-tracker/src/",
            };
            !Path::new(ROOT).join(folder).join(file).exists()
        })
        .collect();
    assert!(missing.is_empty(), "not there: {}", missing.join(", "));
}

#[test]
fn what_a_page_names() {
    let page = "# A `heading`, or two\n\n[a](b.md#c) ![p](q.svg)\n\n```\n[not](one)\n```\n\n## A heading or two\n";
    assert_eq!(targets(page), ["b.md#c", "q.svg"]);
    assert_eq!(headings(page), BTreeSet::from(["a-heading-or-two".to_owned(), "a-heading-or-two-1".to_owned()]));
}
