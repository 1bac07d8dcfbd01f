//! One run of one point, in a process of its own: what it measured, or why it measured nothing.
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use alloc_timeline::Dimension;
use anyhow::{Context, Result, bail, ensure};

use super::conditions;
use super::planned::Planned;
use super::record::{Conditions, Measured, Outcome, Record};
use crate::child::{self, Ended, Job, Times};
use crate::cli::WorkArgs;
use crate::device::DeviceName;

/// What the kernel says when a disk is full, in the messages of a run. Such a run says nothing of its point.
const FULL: [&str; 2] = ["No space left on device", "Disk quota exceeded"];

/// Runs points, each in a process of its own.
pub(super) struct Runner<'a> {
    /// The folder of this program and its siblings for other allocators.
    pub(super) programs: &'a Path,
    pub(super) conditions: &'a Conditions,
    /// Where the timeline goes.
    pub(super) running: &'a Path,
}

impl Runner<'_> {
    /// Runs `planned`. `None` when the user ended it.
    ///
    /// # Errors
    /// When the run could not be started, or a disk is full: what concerns the sweep and not the point.
    pub(super) fn run(&self, planned: &Planned, repeat: u64) -> Result<Option<Record>> {
        // Every run is tracked where the tracker serves its allocator, so that its time and its bytes are of one process.
        // That is the same program for each of them; without the tracker each allocator has a program of its own.
        let backend = planned.allocator.kind().backend();
        let program = self.programs.join(if backend.is_some() { "trainer" } else { planned.allocator.program() });
        ensure!(program.exists(), "{} is not there; build it with cargo build --release -p trainer", program.display());
        fs::create_dir_all(self.running).with_context(|| format!("{}: cannot be made", self.running.display()))?;
        let timeline = self.running.join("run.timeline.json");
        // That of the run before, if it is still there.
        let _ = fs::remove_file(&timeline);
        let work = self.work(planned);
        let job = Job {
            model: planned.model,
            mode: planned.mode,
            work: &work,
            batch: planned.point.batch,
            threads: planned.point.threads,
            data: &planned.data,
            optimizer: planned.optimizer,
        };
        let mut command = match backend {
            Some(backend) => {
                let mut command = child::over(&program, &planned.allocator, &job);
                command.env("ALLOC_TRACKER_BACKEND", backend).arg("--json-times").arg("--out").arg(&timeline);
                command
            }
            None => child::untracked_over(&program, &planned.allocator, &job),
        };
        command.args(["--precision", planned.precision.as_str()]);
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let began = Instant::now();
        let ended = child::ended(&mut command)?;
        let wall_ns = began.elapsed().as_nanos() as u64;
        let (outcome, reason, measured) = match ended {
            Ended::Interrupted => return Ok(None),
            Ended::Done(stdout) => {
                let path = backend.is_some().then_some(timeline.as_path());
                (Outcome::Done, None, Some(measured(&stdout, path)?))
            }
            Ended::Failed { status, said } => {
                if let Some(line) = said.lines().find(|line| FULL.iter().any(|full| line.contains(full))) {
                    bail!(
                        "{}: a run could not write its timeline: {line}; the runs that ended before are kept: make room, \
                         and the same command continues",
                        self.running.display()
                    );
                }
                let (outcome, reason) = why(status.signal(), &said);
                (outcome, Some(reason), None)
            }
        };
        Ok(Some(Record {
            point: planned.point.clone(),
            repeat,
            outcome,
            reason,
            measured,
            started_unix_s: started,
            wall_ns,
            conditions: conditions::of(planned, self.conditions),
        }))
    }

    fn work(&self, planned: &Planned) -> WorkArgs {
        let Conditions { steps, seed, .. } = *self.conditions;
        WorkArgs {
            batch: planned.point.batch,
            steps,
            input: planned.input(),
            threads: Some(planned.point.threads),
            seed,
            data: None,
            device: DeviceName::Cpu,
        }
    }
}

/// Reads what a run printed and, where it was tracked, its timeline.
fn measured(stdout: &str, timeline: Option<&Path>) -> Result<Measured> {
    let times: Times = serde_json::from_str(stdout).context("a run printed something else than its times")?;
    let mut measured = Measured { step_ns: times.step_ns, peak_rss_bytes: times.peak_rss_bytes, ..Measured::default() };
    if let Some(path) = timeline {
        let timeline = alloc_timeline::load(path)?;
        measured.peak_live_bytes = Some(timeline.peak.live_bytes);
        measured.peak_by_category = timeline.peak.by(&timeline.scopes, Dimension::Category);
    }
    Ok(measured)
}

/// How a run ended that printed no times, and why, in a line.
fn why(signal: Option<i32>, said: &str) -> (Outcome, String) {
    if let Some(signal) = signal {
        let memory = if signal == libc::SIGKILL { ", most likely by the kernel for lack of memory" } else { "" };
        return (Outcome::Killed, format!("killed by signal {signal}{memory}"));
    }
    let line = said.lines().rev().find_map(|line| line.strip_prefix("error: "));
    let line = line.or_else(|| said.lines().rev().find(|line| !line.trim().is_empty()));
    (Outcome::Failed, line.unwrap_or("it said nothing").to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_one_line() {
        let said = "step 1/3\nerror: step 2: libtorch failed in the forward pass: no memory\n";
        let failed = |text: &str| (Outcome::Failed, text.to_owned());
        assert_eq!(why(None, said), failed("step 2: libtorch failed in the forward pass: no memory"));
        assert_eq!(why(None, "terminate called\n\n"), failed("terminate called"));
        assert_eq!(why(None, ""), failed("it said nothing"));
        let (outcome, reason) = why(Some(libc::SIGKILL), "");
        assert_eq!(
            (outcome, reason.as_str()),
            (Outcome::Killed, "killed by signal 9, most likely by the kernel for lack of memory")
        );
    }

    #[test]
    fn what_a_run_printed() {
        let text = r#"{"step_ns":[5,4],"loss":[null],"peak_rss_bytes":7}"#;
        let read = measured(text, None).expect("times");
        assert_eq!((read.step_ns, read.peak_rss_bytes, read.peak_live_bytes), (vec![5, 4], Some(7), None));
        assert!(measured("hello", None).is_err());
    }
}
