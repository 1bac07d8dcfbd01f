//! Instructions added to a pair, through each door. `cargo xtask gate` compares the same numbers with committed ones.

use anyhow::Result;

use super::context::Bench;
use super::measurement::{Measurement, Reading};
use crate::callgrind::{self, Door};
use crate::progress::Progress;

const LIMIT: f64 = 40.0;

/// Both doors' rows.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Measurement>> {
    let missing = callgrind::why_unavailable();
    if let Some(why) = &missing {
        eprintln!("bench: instructions are SKIPPED: {why}");
    }
    let progress = Progress::parts("bench: instructions of a pair", callgrind::RUNS_PER_DOOR * 2);
    let mut measurements = Vec::new();
    for door in Door::ALL {
        let (key, name) = match door {
            Door::Rust => ("pair_instructions_added", "Rust's door"),
            Door::C => ("pair_instructions_added_c_door", "C's door"),
        };
        let reading = match &missing {
            Some(why) => Reading::Skipped(why.clone()),
            None => Reading::Number(
                callgrind::added(bench.workspace, &bench.workloads, door, &progress)?,
                "callgrind, 250,000 pairs less 50,000, tracked less plain jemalloc".to_owned(),
            ),
        };
        let title = format!("instructions added to a malloc+free pair, {name}");
        measurements.push(Measurement { key, title, limit: Some(LIMIT), reading });
    }
    progress.done("");
    Ok(measurements)
}
