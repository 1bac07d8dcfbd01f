//! The path of a timeline that no other process writes, and that no earlier program of the same process has written.
use std::path::{Path, PathBuf};

use alloc_tracker::unaided::with_process_id;

use crate::settings::Settings;

/// The path for this process. A process other than the first gets its id into the name, whether the user has asked for it
/// or not. Where a file is there already, because the process was another program before (`exec`), the name gets a number.
pub fn path(settings: &Settings, process: u32) -> PathBuf {
    let text = with_process_id(&settings.output, process).to_string_lossy().into_owned();
    let has_process = Path::new(&text) != settings.output;
    let named = if has_process || settings.is_first { text } else { with_suffix(&text, &process.to_string()) };
    let numbered = |number: u32| if number == 1 { named.clone() } else { with_suffix(&named, &number.to_string()) };
    let free = (1..1000).map(numbered).find(|path| !is_there(path));
    free.unwrap_or(named).into()
}

/// `run.timeline.json` with a suffix: `run-7.timeline.json`.
fn with_suffix(path: &str, suffix: &str) -> String {
    for ending in [".timeline.json", ".json"] {
        if let Some(name) = path.strip_suffix(ending) {
            return format!("{name}-{suffix}{ending}");
        }
    }
    format!("{path}-{suffix}")
}

/// Whether there is a timeline, or the log of one.
fn is_there(path: &str) -> bool {
    Path::new(path).exists() || Path::new(&format!("{path}.log")).exists()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Follow;

    fn settings(output: &str, is_first: bool) -> Settings {
        Settings { output: output.into(), follow: Follow::All, is_first }
    }

    #[test]
    fn only_the_first_process_has_the_very_name_that_was_typed() {
        let path = |output, is_first| path(&settings(output, is_first), 7);
        assert_eq!(path("no/such/run.timeline.json", true), Path::new("no/such/run.timeline.json"));
        assert_eq!(path("no/such/run.timeline.json", false), Path::new("no/such/run-7.timeline.json"));
        assert_eq!(path("no/such/%p.timeline.json", false), Path::new("no/such/7.timeline.json"));
        assert_eq!(path("no/such/run", false), Path::new("no/such/run-7"));
        assert_eq!(path("no/50%pure/run", true), Path::new("no/50%pure/run"), "a folder has its own name");
    }

    #[test]
    fn a_second_program_of_a_process_keeps_the_file_of_the_first() {
        let folder = std::env::temp_dir().join(format!("alloc-preload-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let first = folder.join("7.timeline.json");
        std::fs::write(&first, "{}").expect("a file");
        std::fs::write(folder.join("7-2.timeline.json.log"), "").expect("a file");
        let found = path(&settings(&folder.join("%p.timeline.json").to_string_lossy(), true), 7);
        let removed = std::fs::remove_dir_all(&folder);
        assert_eq!(found, folder.join("7-3.timeline.json"), "one timeline is there, and one log");
        removed.expect("the folder is ours");
    }
}
