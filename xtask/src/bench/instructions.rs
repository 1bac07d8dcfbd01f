//! Instructions added to a pair, through each door. `cargo xtask gate` holds the same numbers to the committed ones.

use anyhow::Result;

use super::Bench;
use super::answer::{Answer, Found};
use crate::callgrind::{self, Door};
use crate::progress::Step;

const LIMIT: f64 = 40.0;

/// Both doors' rows.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Answer>> {
    let missing = callgrind::missing();
    if let Some(why) = &missing {
        eprintln!("bench: instructions are SKIPPED: {why}");
    }
    let step = Step::parts("bench: instructions of a pair", callgrind::RUNS_PER_DOOR * 2);
    let mut answers = Vec::new();
    for door in Door::ALL {
        let (key, name) = match door {
            Door::Rust => ("pair_instructions_added", "Rust's door"),
            Door::C => ("pair_instructions_added_c_door", "C's door"),
        };
        let found = match &missing {
            Some(why) => Found::Nothing(why.clone()),
            None => Found::Number(
                callgrind::added(bench.workspace, &bench.workloads, door, &step)?,
                "callgrind, 250,000 pairs less 50,000, tracked less plain jemalloc".to_owned(),
            ),
        };
        let title = format!("instructions added to a malloc+free pair, {name}");
        answers.push(Answer { key, title, limit: Some(LIMIT), found });
    }
    step.done("");
    Ok(answers)
}
