//! One run: its timeline, its names, and the facts that the program recorded about itself.
use std::path::{Path, PathBuf};

use alloc_timeline::{Dimension, Ending, OutsideFigure, Scope, Timeline};
use serde_json::Value;

use crate::model::shown::shown;

/// A timeline with the names by which the user knows it.
#[derive(Clone, Debug)]
pub struct Run {
    /// The file that it was read from.
    pub path: PathBuf,
    /// Its file name without `.timeline.json`.
    pub name: String,
    /// The name in tables and legends. No other run on the same screen has the same label.
    pub label: String,
    /// The recorded data.
    pub timeline: Timeline,
}

impl Run {
    /// A run that was read from `path`. Its label is its name until somebody gives it another one.
    pub fn new(path: impl Into<PathBuf>, timeline: Timeline) -> Run {
        let path = path.into();
        let name = shown(&name_of(&path));
        Run { path, label: name.clone(), name, timeline }
    }

    /// The fact that the program recorded under `key`, as text.
    pub fn fact(&self, key: &str) -> Option<String> {
        self.timeline.run.get(key).map(text_of)
    }

    /// One line that says what ran: `mobilenet_v1, train, batch 8`. It begins with the file's name where neither model
    /// nor mode was recorded.
    pub fn title(&self) -> String {
        let mut title: Vec<String> = ["model", "mode"].iter().filter_map(|key| self.fact(key)).collect();
        if title.is_empty() {
            title.push(self.name.clone());
        }
        title.extend(self.fact("batch").map(|batch| format!("batch {batch}")));
        title.extend(self.fact("image_size").map(|side| format!("{side}x{side}")));
        title.extend(self.fact("length").map(|length| format!("{length} tokens")));
        title.join(", ")
    }

    /// All scopes.
    pub fn scopes(&self) -> &[Scope] {
        &self.timeline.scopes
    }

    /// The names of one dimension with their bytes at the peak: the biggest first, equal ones in the order of their names.
    pub fn peak_by(&self, dimension: Dimension) -> Vec<(String, u64)> {
        let mut parts: Vec<_> = self.timeline.peak.by(self.scopes(), dimension).into_iter().collect();
        parts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        parts
    }

    /// The lane with this name: one figure from outside the tracker.
    pub fn lane(&self, name: &str) -> Option<&OutsideFigure> {
        self.timeline.lanes.iter().find(|lane| lane.name == name)
    }

    /// The most bytes that were resident; absent when no probe could read them.
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
            _ => "ended in a way that this viewer does not know",
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

/// A value as a person would write it: text has no quotes, and blanks separate the items of a list (a command line).
pub fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => shown(text),
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
        let mut run = Run::new("x.timeline.json", tiny());
        assert_eq!(run.title(), "lenet, train, batch 8, 28x28");
        run.timeline.run.clear();
        assert_eq!(run.title(), "x");
    }

    #[test]
    fn parts_are_sorted_and_sum_to_the_peak() {
        let run = Run::new("x", tiny());
        for dimension in Dimension::ALL {
            let parts = run.peak_by(dimension);
            assert_eq!(parts.iter().map(|part| part.1).sum::<u64>(), run.timeline.peak.live_bytes);
            assert!(parts.windows(2).all(|pair| pair[0].1 >= pair[1].1));
        }
    }
}
