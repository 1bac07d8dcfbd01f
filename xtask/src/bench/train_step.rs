//! A training step of ResNet-18, tracked against the same program, the same allocator, with tracking off.

use anyhow::{Context, Result};

use super::pair::{Compared, interleave, median};
use super::{Bench, Measurement};
use crate::child;
use crate::progress::Step;
use crate::trainer_run::TrainerRun;

/// Steps of one run, and how many of them only warm caches and allocator up.
const STEPS: u32 = 6;
const WARM_UP: usize = 2;

pub const MEASUREMENT: Measurement = Measurement {
    key: "train_step_vs_same_allocator_batch8",
    title: "ResNet-18 training step, batch 8, 224 x 224, one thread: tracked / the same program with tracking off",
    pairs: (7, 2),
    run,
};

fn run(bench: &Bench<'_>, pairs: usize) -> Result<Compared> {
    let step = Step::parts("bench: ResNet-18 training step", 2 * pairs as u64);
    let one = |track: &str| {
        let nanoseconds = median_step(bench, track, &step)?;
        step.add(1);
        Ok(nanoseconds)
    };
    let compared = interleave(pairs, || one("on"), || one("off"))?;
    step.done("");
    Ok(compared)
}

/// Runs the trainer once; the median step in nanoseconds.
fn median_step(bench: &Bench<'_>, track: &str, step: &Step) -> Result<f64> {
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    let out = scratch.path().join("bench.timeline.json");
    let run = TrainerRun { mode: "train", model: "resnet18", batch: 8, steps: STEPS, image_size: 224, threads: 1, out };
    let mut command = run.command(bench.programs, bench.workspace)?;
    command.args(["--track", track, "--json-times"]);
    let ended = child::watch(&mut command, step)?.expect_success(&format!("the run with --track {track}"))?;
    let times = step_times(&ended.stdout).context("the trainer printed no {\"step_ns\": [...]} with --json-times")?;
    anyhow::ensure!(times.len() > WARM_UP, "the trainer timed only {} steps, {WARM_UP} of them warm-up", times.len());
    Ok(median(&times[WARM_UP..]))
}

/// The step times in the trainer's one line of JSON.
fn step_times(stdout: &str) -> Option<Vec<f64>> {
    let parsed = stdout.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let times = parsed.filter_map(|value| value.get("step_ns")?.as_array().cloned()).next_back()?;
    times.iter().map(serde_json::Value::as_f64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_are_found_among_other_lines() {
        let stdout = "step 1 loss 2.3\n{\"other\": 1}\n{\"step_ns\":[900,700,500]}\ndone\n";
        assert_eq!(step_times(stdout), Some(vec![900.0, 700.0, 500.0]));
        assert_eq!(step_times("nothing\n"), None);
    }
}
