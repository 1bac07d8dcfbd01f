//! Row 19, the first claim: how long the layers' weights take to load under lower and lower limits.
use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use super::shared::{THREADS, claim, least_to_most, mib, ms, table, timed};
use crate::reproduce::results::{Depth, Results, list, number, text};
use crate::reproduce::spec::{Claim, FOLDER, Holds, Measurement, Table};

/// From no limit down to one under which the network does not run: its weights alone are 233 MiB.
const LIMITS: &str = "none,640M,480M,400M,360M,320M,280M";
/// How often all of them run.
const RUNS: u64 = 3;
/// What is taken for longer, in times of the run without a limit, as the document has no number.
const LONGER: f64 = 1.1;

/// The measurements of the claim: each is a run under every limit.
pub(super) fn measurements(depth: Depth) -> Vec<Measurement> {
    let steps = if depth == Depth::Quick { 3 } else { 10 };
    let infer = format!("trainer infer --model alexnet --batch 1 --image-size 224 --steps {steps} {THREADS}");
    let command = format!(
        "trainer run-limited --memory {LIMITS} --swap 0 --out {FOLDER} --json -- {infer} --out {FOLDER}/alexnet.timeline.json"
    );
    (1..=RUNS).map(|run| Measurement::json(format!("limits-{run}"), command.clone())).collect()
}

/// What one limit did to the runs under it.
#[derive(Default)]
struct UnderLimit {
    /// How each run ended.
    ended: Vec<String>,
    /// Of each run that ended well, how long all layers' weights took together, in nanoseconds.
    loading_ns: Vec<f64>,
    step_ns: Vec<f64>,
}

/// By limit in bytes; no limit is the largest number.
fn by_limit(results: &Results) -> Result<BTreeMap<u64, UnderLimit>> {
    let mut limits: BTreeMap<u64, UnderLimit> = BTreeMap::new();
    for (_, value) in results.beginning("limits-") {
        for row in list(value, "/rows")? {
            let limit = limits.entry(row["limit_bytes"].as_u64().unwrap_or(u64::MAX)).or_default();
            if number(row, "/exit_code")? != 0.0 {
                limit.ended.push(if row["broke"] == true { "killed" } else { "failed" }.to_owned());
                continue;
            }
            limit.ended.push("finished".to_owned());
            let layers = row.pointer("/run/layers").and_then(Value::as_object);
            let of_layers = layers.into_iter().flatten().filter_map(|(_, layer)| layer["init_ns"].as_f64());
            limit.loading_ns.push(of_layers.sum());
            limit.step_ns.push(number(row, "/run/step_ns")?);
        }
    }
    Ok(limits)
}

/// The claim, and the table of limits.
pub(super) fn finding(results: &Results) -> Result<(Claim, Table)> {
    let limits = by_limit(results)?;
    let finished = |limit: &&UnderLimit| limit.loading_ns.len() == limit.ended.len();
    let (what, published) = ("loading a layer under a lower limit", "takes longer");
    let lowest = limits.iter().find(|(_, limit)| finished(limit));
    let claim = match (lowest, limits.get(&u64::MAX).filter(finished)) {
        (Some((&bytes, lowest)), Some(free)) if bytes != u64::MAX => {
            let ratios: Vec<f64> =
                lowest.loading_ns.iter().zip(&free.loading_ns).map(|(low, free)| low / free).collect();
            let longer: Vec<bool> = ratios.iter().map(|ratio| *ratio > LONGER).collect();
            let measured = format!(
                "all weights of AlexNet within {}, in times of no limit: {}",
                mib(bytes as f64),
                least_to_most(&ratios, |ratio| format!("{ratio:.2}"))
            );
            let because = "without swap there is nothing between enough and too little: weights take as long under every \
                           limit under which the network runs, and below that it is killed";
            claim(what, published, measured, timed(results, Holds::in_every(&longer, because)))
        }
        _ => {
            let reason = "no run under a limit ended, or there can be no limits here";
            claim(what, published, "-", Holds::Unknown(reason.to_owned()))
        }
    };
    let heads = ["limit", "ended", ">loading all weights", ">a step"];
    let rows = limits.iter().rev().map(|(&bytes, limit)| {
        let name = if bytes == u64::MAX { "none".to_owned() } else { mib(bytes as f64) };
        vec![name, limit.ended.join(", "), least_to_most(&limit.loading_ns, ms), least_to_most(&limit.step_ns, ms)]
    });
    let title = format!("AlexNet, inference, batch 1, in a control group ({})", by(results)?);
    Ok((claim, table(title, &heads, rows.collect())))
}

/// What held the runs to their limits.
fn by(results: &Results) -> Result<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, value) in results.beginning("limits-") {
        for row in list(value, "/rows")? {
            let name = text(row, "/by")?;
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
    }
    Ok(names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::results::{Outcome, example};
    use serde_json::json;

    /// Two limits; the lower one kills in one of two repetitions.
    fn measured(loading_ns: [u64; 2], lower_ends: bool) -> Outcome {
        let row = |limit: Option<u64>, ns: u64, ended: bool| {
            let run = json!({ "step_ns": 5, "layers": { "conv1": { "init_ns": ns }, "fc": { "init_ns": 1000 } } });
            let code = if ended { 0 } else { 137 };
            json!({ "limit_bytes": limit, "by": "cgroup-v1", "exit_code": code, "broke": !ended, "run": run })
        };
        let [free, low] = loading_ns;
        Outcome::Done(
            json!({ "rows": [row(None, free, true), row(Some(512), low, true), row(Some(256), 1, lower_ends)] }),
        )
    }

    /// 2,000 + 1,000 ns in times of 1,000 + 1,000; the limit that killed once does not count.
    #[test]
    fn the_lowest_limit_under_which_all_runs_ended_counts() {
        let runs = vec![("limits-1", measured([1000, 2000], false)), ("limits-2", measured([1000, 2000], true))];
        let (claim, table) = finding(&example(19, runs)).expect("a claim");
        assert!(claim.measured.ends_with("in times of no limit: 1.50"), "{}", claim.measured);
        assert_eq!(claim.holds, Holds::Yes);
        let ends: Vec<&str> = table.rows.iter().map(|row| row[1].as_str()).collect();
        assert_eq!(ends, ["finished, finished", "finished, finished", "killed, finished"]);
    }

    #[test]
    fn as_long_under_a_limit_differs_and_no_limit_at_all_is_not_known() {
        let as_long = || vec![("limits-1", measured([1000, 1000], false)), ("limits-2", measured([1000, 1000], false))];
        let (claim, _) = finding(&example(19, as_long())).expect("a claim");
        assert!(matches!(claim.holds, Holds::No(_)), "{:?}", claim.holds);
        let (claim, _) = finding(&example(19, Vec::new())).expect("a claim");
        assert!(matches!(claim.holds, Holds::Unknown(_)), "{:?}", claim.holds);
    }
}
