//! `trainer compare`, as the demo and the gate call it: every model in every mode, each run in a process of its own.
//!
//! Only the trainer knows which models and modes there are, and how the timelines are called. Its lines on stderr show
//! how far it is: `MODEL MODE` before each run, then the lines of the run, and `wrote FILE` at its end.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::child;
use crate::programs::Programs;
use crate::progress::Progress;
use crate::workspace::Workspace;

/// The slice of Fashion-MNIST. Paths are relative to the root, so that no machine's paths get into a timeline.
pub const DATA: &str = "fixtures/fashion-mnist";

/// What all the runs have in common.
#[derive(Debug, Clone, Copy)]
pub struct CompareSettings<'a> {
    /// The modes, separated by commas; none for all of them.
    pub modes: Option<&'a str>,
    /// Images a step.
    pub batch: u32,
    /// Steps.
    pub steps: u32,
    /// Side of the square image in pixels.
    pub image_size: u32,
    /// Threads of libtorch.
    pub threads: usize,
    /// The folder that the timelines go to.
    pub out: &'a str,
}

impl CompareSettings<'_> {
    /// The command line.
    pub fn command(&self, programs: &Programs, workspace: &Workspace) -> Result<Command> {
        let mut command = programs.command(workspace, "trainer")?;
        command.args(["compare", "--seed", "1", "--data", DATA, "--out", self.out]);
        if let Some(modes) = self.modes {
            command.args(["--modes", modes]);
        }
        command.args(["--batch", &self.batch.to_string(), "--steps", &self.steps.to_string()]);
        command.args(["--image-size", &self.image_size.to_string(), "--threads", &self.threads.to_string()]);
        Ok(command)
    }
}

/// Runs `command`, a `trainer compare`, and shows the progress of each of its runs; `title` makes the name of a run from
/// its line `MODEL MODE`. Returns the timelines in the order of the runs.
pub fn run_all(command: &mut Command, title: impl Fn(&str) -> String) -> Result<Vec<PathBuf>> {
    let mut timelines = Vec::new();
    let mut running: Option<Progress> = None;
    let finished = child::run_with(command, |line| {
        if is_heading(line) {
            end(running.replace(Progress::open(title(line))));
        } else if let Some(path) = line.strip_prefix("wrote ") {
            timelines.push(PathBuf::from(path));
        } else if let Some(progress) = &running {
            progress.note(line);
        }
    })?;
    finished.expect_success("trainer compare")?;
    end(running);
    ensure!(!timelines.is_empty(), "trainer compare named no timeline that it wrote");
    Ok(timelines)
}

/// The run that was in progress, if any, has ended well.
fn end(run: Option<Progress>) {
    if let Some(run) = run {
        run.done("");
    }
}

/// Whether the trainer says with this line that a run begins.
fn is_heading(line: &str) -> bool {
    matches!(line.split_once(' '), Some((_, "train" | "infer")))
}

/// The model of a timeline, from its name `MODEL-MODE.timeline.json`.
pub fn model_of(timeline: &Path) -> Result<&str> {
    let name = timeline.file_name().and_then(|name| name.to_str()).context("a timeline has a name")?;
    let (model, _) = name.split_once('-').with_context(|| format!("{name} names no model"))?;
    Ok(model)
}

/// The threads of the demo: one number for all machines with at least two cores, so that their runs can be compared.
pub fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get().min(2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timelines_are_those_that_the_trainer_names_in_its_order() {
        let script = "echo 'm train' >&2; echo 'step 1/1  0.1 s' >&2; echo 'wrote a/m-train.timeline.json' >&2; \
                      echo 'm infer' >&2; echo 'wrote a/m-infer.timeline.json' >&2; echo 'a table'";
        let titles = std::cell::RefCell::new(Vec::new());
        let title = |heading: &str| {
            titles.borrow_mut().push(heading.to_owned());
            heading.to_owned()
        };
        let timelines = run_all(Command::new("sh").args(["-c", script]), title).unwrap();
        assert_eq!(timelines, ["a/m-train.timeline.json", "a/m-infer.timeline.json"].map(PathBuf::from));
        assert_eq!(titles.into_inner(), ["m train", "m infer"]);
    }

    #[test]
    fn a_run_that_fails_is_quoted() {
        let script = "echo 'm train' >&2; echo 'error: no room' >&2; exit 2";
        let error = run_all(Command::new("sh").args(["-c", script]), str::to_owned).unwrap_err();
        assert_eq!(error.to_string(), "trainer compare failed (exit status: 2)\n    | m train\n    | error: no room");
    }

    #[test]
    fn headings_are_told_from_the_lines_of_a_run() {
        assert!(is_heading("mobilenet_v1 train") && is_heading("resnet18 infer"));
        assert!(!is_heading("wrote a.timeline.json") && !is_heading("step 1/5  0.3 s  loss 6.9"));
        assert_eq!(model_of(Path::new("target/gate/resnet18-train.timeline.json")).unwrap(), "resnet18");
    }
}
