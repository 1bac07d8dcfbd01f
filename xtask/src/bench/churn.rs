//! malloc+free pairs and JSON: the same work over the tracker, over plain jemalloc in the tracker's configuration, and
//! over the C library's malloc.

use std::cell::Cell;
use std::path::Path;

use anyhow::{Context, Result};

use super::context::Bench;
use super::layouts::Layouts;
use super::measurement::Measurement;
use super::rounds::rounds_until;
use super::workload::{Elapsed, ratio, run_timed};
use crate::progress::Progress;

const PAIRS: &str = "10000000";
/// With call stacks a pair takes several times as long.
const FEWER_PAIRS: &str = "2000000";
/// One sampled stack for so many allocated bytes.
const SAMPLED: &str = "512KiB";

/// A program, and its environment.
type Contender<'a> = (&'a str, Vec<(&'a str, String)>);

/// So many rounds come before a verdict, each with programs in another order of their functions.
fn least_rounds(bench: &Bench<'_>) -> usize {
    bench.rounds(41, 15)
}

/// The rows of malloc+free pairs.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Measurement>> {
    let layouts = Layouts::link(bench, &["churn-tracked", "churn-jemalloc", "churn-glibc"], least_rounds(bench))?;
    let title = |what: &str, against: &str| {
        format!("10 M malloc+free pairs, mixed sizes, 10,000 live slots a thread, {what}: tracked / {against}")
    };
    let [tracked, plain, glibc] = ["churn-tracked", "churn-jemalloc", "churn-glibc"].map(|name| (name, Vec::new()));
    let both = [tracked.clone(), plain.clone()];
    let jemalloc = "plain jemalloc";
    let mut rows = series(bench, &layouts, &[tracked, plain.clone(), glibc], &[PAIRS, "1"], |times| {
        vec![
            ratio("churn_1t_vs_jemalloc", title("1 thread", jemalloc), 1.25, [&times[0], &times[1]]),
            ratio("churn_1t_vs_glibc", title("1 thread", "glibc"), 0.47, [&times[0], &times[2]]),
        ]
    })?;
    let mut more = |arguments: &[&str], key, what, limit| -> Result<()> {
        rows.extend(series(bench, &layouts, &both, arguments, |times| {
            vec![ratio(key, title(what, jemalloc), limit, [&times[0], &times[1]])]
        })?);
        Ok(())
    };
    more(&[PAIRS, "2"], "churn_2t_vs_jemalloc", "2 threads", 1.25)?;
    more(&[PAIRS, "16"], "churn_16t_vs_jemalloc", "16 threads", 1.35)?;
    more(&[PAIRS, "1", "c"], "churn_1t_c_door_vs_jemalloc", "1 thread, C's malloc", 1.40)?;
    let scratch = tempfile::tempdir().context("cannot make a temporary folder")?;
    rows.extend(stacks(bench, &layouts, plain, scratch.path())?);
    Ok(rows)
}

/// The row of pairs whose stacks are sampled and recorded.
fn stacks(bench: &Bench<'_>, layouts: &Layouts, plain: Contender<'_>, folder: &Path) -> Result<Vec<Measurement>> {
    let timeline = folder.join("churn.timeline.json").display().to_string();
    let settings = vec![("ALLOC_TRACKER_STACKS", SAMPLED.to_owned()), ("CHURN_TIMELINE", timeline)];
    let title =
        format!("2 M such pairs, 1 thread, recorded, a stack sampled every {SAMPLED}: tracked / plain jemalloc");
    series(bench, layouts, &[("churn-tracked", settings), plain], &[FEWER_PAIRS, "1"], |times| {
        vec![ratio("churn_1t_stacks_vs_jemalloc", title.clone(), 1.60, [&times[0], &times[1]])]
    })
}

/// The row of the JSON workload.
pub fn json(bench: &Bench<'_>) -> Result<Vec<Measurement>> {
    let names = ["json-tracked", "json-jemalloc"];
    let layouts = Layouts::link(bench, &names, least_rounds(bench))?;
    let both = names.map(|name| (name, Vec::new()));
    let title = "4 x 40,000 JSON records parsed: tracked / plain jemalloc";
    series(bench, &layouts, &both, &[], |times| {
        vec![ratio("json_vs_jemalloc", title.to_owned(), 1.06, [&times[0], &times[1]])]
    })
}

/// What `rows` makes of the times of each contender, round by round: of so many rounds that all rows have a verdict, if it
/// can be had in time.
fn series(
    bench: &Bench<'_>,
    layouts: &Layouts,
    contenders: &[Contender<'_>],
    arguments: &[&str],
    rows: impl Fn(&[Vec<Elapsed>]) -> Vec<Measurement>,
) -> Result<Vec<Measurement>> {
    let least = least_rounds(bench);
    let name = format!("bench: {} {}", contenders[0].0, arguments.join(" "));
    let progress = Progress::parts(name, (least * contenders.len()) as u64);
    let runs = Cell::new(0);
    let run = |contender: usize| {
        let (program, settings) = &contenders[contender];
        let round = runs.replace(runs.get() + 1) / contenders.len();
        let mut command = layouts.command(bench, program, round)?;
        let time = run_timed(command.args(arguments).envs(settings.iter().cloned()), &progress)?;
        progress.add(1);
        Ok(time)
    };
    let judged = |times: &[Vec<Elapsed>]| rows(times).iter().all(Measurement::is_judged);
    let times = rounds_until(least, bench.patience(), contenders.len(), run, judged)?;
    progress.done("");
    Ok(rows(&times))
}
