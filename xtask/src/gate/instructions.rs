//! The instructions that tracking adds to a malloc+free pair, compared with the committed number.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::callgrind::{self, Door};
use crate::outcome::Outcome;
use crate::programs::Programs;
use crate::progress::Progress;
use crate::user_error::UserError;
use crate::workspace::Workspace;

/// The committed numbers, by door.
const BASELINE: &str = "fixtures/baselines/instructions.json";

/// How many instructions above the committed number still pass: another version of the compiler may arrange a branch
/// differently.
const MARGIN: f64 = 1.0;

/// Counts both doors. Compares the counts with the committed numbers, or with `update` commits them.
pub fn run(workspace: &Workspace, programs: &Programs, update: bool) -> Result<Outcome> {
    if let Some(why) = callgrind::why_unavailable() {
        println!("gate: instructions SKIPPED: {why}");
        eprintln!("gate: instructions SKIPPED: {why}");
        return Ok(Outcome::Fine);
    }
    let progress = Progress::parts("gate: instructions of a malloc+free pair", callgrind::RUNS_PER_DOOR * 2);
    let mut counted = Vec::new();
    for door in Door::ALL {
        counted.push((door, callgrind::added(workspace, programs, door, &progress)?));
    }
    progress.done("");
    let path = workspace.root().join(BASELINE);
    if update {
        let value: Value =
            counted.iter().map(|(door, count)| (door.name().to_owned(), json!(rounded(*count)))).collect();
        fs::write(&path, format!("{value}\n")).with_context(|| format!("cannot write {}", path.display()))?;
        println!("gate: {BASELINE} is the new baseline");
        return Ok(Outcome::Fine);
    }
    let text = fs::read_to_string(&path).map_err(|error| {
        let what = format!("there is no baseline {BASELINE} to hold the instructions against: {error}");
        UserError::new(what, "make it with `cargo xtask gate --update` and commit it")
    })?;
    let baseline: Value = serde_json::from_str(&text).with_context(|| format!("{BASELINE} is no JSON"))?;
    let mut outcome = Outcome::Fine;
    for (door, count) in counted {
        let committed = baseline.get(door.name()).and_then(Value::as_f64);
        let committed = committed.with_context(|| format!("{BASELINE} has no number for {}", door.name()))?;
        let (line, judged) = judge(door, count, committed);
        println!("{line}");
        if judged == Outcome::CheckFailed {
            outcome = judged;
        }
    }
    Ok(outcome)
}

/// A line about one door, and whether it passes.
fn judge(door: Door, count: f64, committed: f64) -> (String, Outcome) {
    let found =
        format!("gate: instructions added to a pair, {} door: {count:.2}, committed {committed:.2}", door.name());
    if count > committed + MARGIN {
        let advice = "grew; if that is meant, `cargo xtask gate --update` and say why in the commit";
        (format!("{found}: {advice}"), Outcome::CheckFailed)
    } else {
        (found, Outcome::Fine)
    }
}

/// To a hundredth of an instruction.
fn rounded(count: f64) -> f64 {
    (count * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_is_one_instruction_wide() {
        let (line, judged) = judge(Door::Rust, 41.0, 40.0);
        assert_eq!(line, "gate: instructions added to a pair, rust door: 41.00, committed 40.00");
        assert_eq!(judged, Outcome::Fine);
        let (line, judged) = judge(Door::C, 41.01, 40.0);
        assert!(line.contains("c door: 41.01, committed 40.00: grew"), "{line}");
        assert_eq!(judged, Outcome::CheckFailed);
    }

    #[test]
    fn fewer_instructions_pass() {
        assert_eq!(judge(Door::Rust, 20.0, 40.0).1, Outcome::Fine);
        assert_eq!(rounded(40.123_456), 40.12);
    }
}
