//! A training step of ResNet-18: tracked with operator scopes and recorder, beside the same program with tracking off and beside the
//! trainer over the C library's malloc. Two at a time take turns step by step.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use anyhow::{Context, Result};

use super::context::Bench;
use super::measurement::Measurement;
use super::rounds::{rounds, rounds_until};
use super::tracker_memory;
use super::workload::{Elapsed, cpu_ratio_of_steps, ratio_of_steps};
use crate::programs::{self, Programs};
use crate::progress::Progress;
use crate::trainer_compare::DATA;
use crate::user_error::UserError;

/// Steps that only warm caches and allocators up.
const WARM_UP: usize = 2;

/// Program and `--track` of a contender.
type Contending = (&'static str, &'static str);
const TRACKED: Contending = ("trainer", "on");
/// The same program, and so the same allocator, with tracking off.
const OFF: Contending = ("trainer", "off");
const GLIBC: Contending = ("trainer-glibc", "off");

/// Images in a step of the runs that are compared with both others, and whose memory is reported.
const BATCH: u32 = 32;
/// Images in a step of the runs that compare with the same allocator alone: the less a step computes, the more the
/// tracker's share of it shows.
const SMALL_BATCH: u32 = 8;

/// The ratios, and the tracker's memory on the run with the larger batch.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Measurement>> {
    // The same build as the demo's: another choice of packages would be another set of features, and build half again.
    let programs = programs::build(bench.workspace, &["-p", "trainer", "-p", "viewer"])?;
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let timeline = scratch.path().join("bench.timeline.json");
    // Small steps are short: more of them for the same time.
    let (sets, steps, small_steps) = (bench.rounds(3, 2), bench.rounds(12, 6), bench.rounds(24, 15));
    let turns = sets * 2 * (2 * (WARM_UP + steps) + WARM_UP + small_steps);
    let progress = Progress::parts("bench: ResNet-18 training step", turns as u64);
    let sets_of = |other: Contending, batch, steps, rows: &dyn Fn([&[Elapsed]; 2]) -> Vec<Measurement>| {
        let set = |_| take_turns(bench, &programs, ([TRACKED, other], batch, steps), &timeline, &progress);
        let rows_of = |sets: &[Vec<Vec<Elapsed>>]| {
            let [tracked, other] = [0, 1].map(|contender| joined(sets, contender));
            rows([&tracked, &other])
        };
        let judged = |sets: &[Vec<Vec<Vec<Elapsed>>>]| rows_of(&sets[0]).iter().all(Measurement::is_judged);
        let sets = rounds_until(sets, bench.patience(), 1, set, judged)?;
        anyhow::Ok(rows_of(&sets[0]))
    };
    let title =
        |batch, against| format!("ResNet-18 training step, batch {batch}, 224 x 224, 1 thread: tracked / {against}");
    let same = "the same program with tracking off";
    let mut rows = sets_of(OFF, BATCH, steps, &|times| {
        let cpu = title(BATCH, same) + ", in CPU time";
        vec![
            ratio_of_steps("train_step_vs_same_allocator", title(BATCH, same), 1.01, times, steps),
            cpu_ratio_of_steps("train_step_cpu_vs_same_allocator", cpu, 1.02, times, steps),
        ]
    })?;
    rows.extend(sets_of(GLIBC, BATCH, steps, &|times| {
        vec![ratio_of_steps("train_step_vs_glibc", title(BATCH, "untracked over glibc"), 1.00, times, steps)]
    })?);
    let memory = "tracker's memory on that run, bytes; limit 1 % of the peak + 16 MiB".to_owned();
    rows.push(tracker_memory::row("tracker_bytes", memory, &timeline)?);
    rows.extend(sets_of(OFF, SMALL_BATCH, small_steps, &|times| {
        vec![ratio_of_steps("small_train_step_vs_same_allocator", title(SMALL_BATCH, same), 1.05, times, small_steps)]
    })?);
    progress.done("");
    Ok(rows)
}

/// The times of a contender in all sets, one set after the other.
fn joined(sets: &[Vec<Vec<Elapsed>>], contender: usize) -> Vec<Elapsed> {
    sets.iter().flat_map(|set| set[contender].iter().copied()).collect()
}

/// Starts a process of each of these contenders and lets them do their steps in turn, one of them computing at a time.
/// Returns the times of their steps without warm-up.
fn take_turns(
    bench: &Bench<'_>,
    programs: &Programs,
    (contenders, batch, steps): ([Contending; 2], u32, usize),
    timeline: &Path,
    progress: &Progress,
) -> Result<Vec<Vec<Elapsed>>> {
    let all = WARM_UP + steps;
    let start = |contender| Contender::start(bench, programs, contender, [batch, all as u32], timeline);
    let mut contenders = contenders.into_iter().map(start).collect::<Result<Vec<_>>>()?;
    let mut times = rounds(all, contenders.len(), |contender| {
        let time = contenders[contender].step()?;
        progress.add(1);
        Ok(time)
    })?;
    contenders.into_iter().try_for_each(Contender::finish)?;
    times.iter_mut().for_each(|times| drop(times.drain(..WARM_UP)));
    Ok(times)
}

/// A trainer that waits for its turn.
struct Contender {
    process: Child,
    turns: ChildStdin,
    times: BufReader<ChildStdout>,
    /// What it prints on stderr.
    stderr: File,
    name: String,
}

impl Contender {
    fn start(
        bench: &Bench<'_>,
        programs: &Programs,
        (program, track): Contending,
        [batch, steps]: [u32; 2],
        timeline: &Path,
    ) -> Result<Self> {
        let mut command = programs.command(bench.workspace, program)?;
        command.args(["train", "--model", "resnet18", "--seed", "1", "--data", DATA]);
        command.args(["--batch", &batch.to_string(), "--steps", &steps.to_string()]);
        command.args(["--image-size", "224", "--threads", "1"]).arg("--out").arg(timeline);
        command.args(["--track", track, "--take-turns"]);
        let stderr = tempfile::tempfile().context("cannot make a temporary file")?;
        let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stderr.try_clone()?);
        let mut process = streams.spawn().with_context(|| format!("cannot start {program}"))?;
        let turns = process.stdin.take().context("stdin is piped")?;
        let times = BufReader::new(process.stdout.take().context("stdout is piped")?);
        Ok(Self { process, turns, times, stderr, name: format!("{program} --track {track}") })
    }

    /// Lets it do one step.
    fn step(&mut self) -> Result<Elapsed> {
        let mut line = String::new();
        let asked = self.turns.write_all(b"\n").is_ok();
        if asked && self.times.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            return Elapsed::parse(&line).with_context(|| format!("{} answered a turn with {line:?}", self.name));
        }
        Err(self.failure())
    }

    /// Waits until it has written what it has to write.
    fn finish(mut self) -> Result<()> {
        if self.process.wait()?.success() { Ok(()) } else { Err(self.failure()) }
    }

    fn failure(&mut self) -> anyhow::Error {
        let _ = self.process.wait();
        let mut said = String::new();
        let _ = self.stderr.rewind().and_then(|()| self.stderr.read_to_string(&mut said));
        UserError::new(format!("{} ended too early\n{}", self.name, said.trim_end()), "see its own message above")
            .into()
    }
}

/// Ends the process, so that a failed measurement leaves none that waits for its turn.
impl Drop for Contender {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
