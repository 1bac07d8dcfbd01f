//! malloc+free pairs and JSON: the same work over the tracker, over plain jemalloc in the tracker's configuration, and
//! over the C library's malloc.

use anyhow::Result;

use super::context::Bench;
use super::measurement::Measurement;
use super::rounds::rounds;
use super::workload::{Elapsed, ratio, run_timed, without_allocator_settings};
use crate::progress::Progress;

const PAIRS: &str = "10000000";

/// The rows of malloc+free pairs.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Measurement>> {
    let title = |what: &str, against: &str| {
        format!("10 M malloc+free pairs, mixed sizes, 10,000 live slots a thread, {what}: tracked / {against}")
    };
    let all = ["churn-tracked", "churn-jemalloc", "churn-glibc"];
    let one = series(bench, &all, &[PAIRS, "1"])?;
    let two = series(bench, &all[..2], &[PAIRS, "2"])?;
    let many = series(bench, &all[..2], &[PAIRS, "16"])?;
    let c = series(bench, &all[..2], &[PAIRS, "1", "c"])?;
    let jemalloc = "plain jemalloc";
    Ok(vec![
        ratio("churn_1t_vs_jemalloc", title("1 thread", jemalloc), 1.40, [&one[0], &one[1]]),
        ratio("churn_2t_vs_jemalloc", title("2 threads", jemalloc), 1.40, [&two[0], &two[1]]),
        ratio("churn_16t_vs_jemalloc", title("16 threads", jemalloc), 1.40, [&many[0], &many[1]]),
        ratio("churn_1t_vs_glibc", title("1 thread", "glibc"), 0.50, [&one[0], &one[2]]),
        ratio("churn_1t_c_door_vs_jemalloc", title("1 thread, C's malloc", jemalloc), 1.40, [&c[0], &c[1]]),
    ])
}

/// The row of the JSON workload.
pub fn json(bench: &Bench<'_>) -> Result<Measurement> {
    let times = series(bench, &["json-tracked", "json-jemalloc"], &[])?;
    let title = "4 x 40,000 JSON records parsed: tracked / plain jemalloc".to_owned();
    Ok(ratio("json_vs_jemalloc", title, 1.05, [&times[0], &times[1]]))
}

/// The times of each program, round by round.
fn series(bench: &Bench<'_>, programs: &[&str], arguments: &[&str]) -> Result<Vec<Vec<Elapsed>>> {
    let count = bench.rounds(41, 15);
    let progress =
        Progress::parts(format!("bench: {} {}", programs[0], arguments.join(" ")), (count * programs.len()) as u64);
    let times = rounds(count, programs.len(), |contender| {
        let mut command = without_allocator_settings(bench.workloads.command(bench.workspace, programs[contender])?);
        let time = run_timed(command.args(arguments), &progress)?;
        progress.add(1);
        Ok(time)
    })?;
    progress.done("");
    Ok(times)
}
