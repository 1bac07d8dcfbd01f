//! One run: its timeline, what it is called, and what it says of itself.
use std::path::{Path, PathBuf};

use alloc_timeline::{Dimension, Ending, Lane, Scope, Timeline};
use serde_json::Value;

use crate::model::{Parts, parts};

/// A timeline that was read, with the names that the user knows it by.
#[derive(Clone, Debug)]
pub struct Run {
    /// Where it was read.
    pub path: PathBuf,
    /// Its file name without `.timeline.json`.
    pub name: String,
    /// What tables and legends call it; unlike the name of any other run on the same screen.
    pub label: String,
    /// What was recorded.
    pub timeline: Timeline,
}

impl Run {
    /// A run read at `path`.
    pub fn new(path: PathBuf, timeline: Timeline) -> Run {
        let name = name_of(&path);
        Run { path, label: name.clone(), name, timeline }
    }

    /// What the program said of itself under `key`, as text.
    pub fn fact(&self, key: &str) -> Option<String> {
        self.timeline.run.get(key).map(text_of)
    }

    /// One line that says what ran: `mobilenet_v1, train, batch 8`. The file's name where the run does not say.
    pub fn title(&self) -> String {
        let mut title: Vec<String> = ["model", "mode"].iter().filter_map(|key| self.fact(key)).collect();
        if title.is_empty() {
            title.push(self.name.clone());
        }
        title.extend(self.fact("batch").map(|batch| format!("batch {batch}")));
        title.extend(self.fact("image_size").map(|side| format!("{side}x{side}")));
        title.join(", ")
    }

    /// All scopes.
    pub fn scopes(&self) -> &[Scope] {
        &self.timeline.scopes
    }

    /// Who owned the peak, in one dimension.
    pub fn peak_by(&self, dimension: Dimension) -> Parts {
        parts(&self.timeline.peak, &self.timeline.scopes, dimension)
    }

    /// The lane of that name.
    pub fn lane(&self, name: &str) -> Option<&Lane> {
        self.timeline.lanes.iter().find(|lane| lane.name == name)
    }

    /// The most bytes that were resident.
    pub fn rss_peak(&self) -> Option<u64> {
        self.lane("rss").and_then(|lane| lane.peak_bytes)
    }

    /// How the recording ended, in words.
    pub fn ending(&self) -> &'static str {
        match self.timeline.ending {
            Ending::Finished => "finished",
            Ending::Exit => "the process called exit",
            Ending::Panic => "ended by a panic",
            Ending::Interrupted => "interrupted by the user",
            Ending::Dumped => "a copy, written while the process went on",
            Ending::Recovered => "recovered from the log of a process that did not finish",
        }
    }
}

/// The file's name without `.json`, `.timeline` and folders.
pub fn name_of(path: &Path) -> String {
    let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let name = file.strip_suffix(".json").unwrap_or(&file);
    let name = name.strip_suffix(".timeline").unwrap_or(name);
    if name.is_empty() { file.into_owned() } else { name.to_owned() }
}

/// A value as a person would write it: text without quotes, lists (a command line) with blanks between.
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fixture::tiny;

    #[test]
    fn the_name_leaves_out_what_every_timeline_has() {
        assert_eq!(name_of(Path::new("a/resnet18-train.timeline.json")), "resnet18-train");
        assert_eq!(name_of(Path::new("x.json")), "x");
        assert_eq!(name_of(Path::new("x.timeline")), "x");
        assert_eq!(name_of(Path::new("x.other")), "x.other");
        assert_eq!(name_of(Path::new(".json")), ".json");
    }

    #[test]
    fn values_are_written_as_a_person_would() {
        assert_eq!(text_of(&serde_json::json!(["trainer", "--batch", 8])), "trainer --batch 8");
        assert_eq!(text_of(&serde_json::json!(1.5)), "1.5");
    }

    #[test]
    fn the_title_says_what_ran_or_names_the_file() {
        let mut run = Run::new("x.timeline.json".into(), tiny());
        assert_eq!(run.title(), "lenet, train, batch 8, 28x28");
        run.timeline.run.clear();
        assert_eq!(run.title(), "x");
    }

    #[test]
    fn parts_are_sorted_and_sum_to_the_peak() {
        let run = Run::new("x".into(), tiny());
        for dimension in Dimension::ALL {
            let parts = run.peak_by(dimension);
            assert_eq!(parts.iter().map(|part| part.1).sum::<u64>(), run.timeline.peak.live_bytes);
            assert!(parts.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        }
    }
}
