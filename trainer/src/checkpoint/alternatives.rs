//! `trainer plan --checkpoint`: a plan drawn, and what all others would take, from the measured costs of a network's parts.
use anyhow::{Context, Result, anyhow};
use serde_json::{Value, json};
use trainer_checkpoint::{
    Chain, Persistent, Plan, Planned, Schedule, Simulated, best_sequential, draw, plan, revolve, sequential, simulate,
};

use super::asked::Asked;
use super::cut::parts;
use super::measure::{Case, measure};
use super::prepared::place;
use crate::figures::{mib, milliseconds, table};

/// Schedules in bytes that the table shows.
const SHOWN: usize = 10;
/// Units of bytes in which they are looked for.
const UNITS: usize = 1000;

/// Measures the network of `case` and tells what `asked` and all other plans would take: as text, or as one JSON object.
///
/// # Errors
/// When the tracker is off, libtorch fails, or there is no such plan.
pub fn alternatives(asked: &Asked, case: &Case, as_json: bool) -> Result<String> {
    alloc_torch::install().context("what a part takes is measured by the tracker, which cannot watch libtorch")?;
    let parts = parts(&case.model.stages(case.classes), case.in_place);
    let chain = measure(case, &parts)?;
    let planned = plan(&chain, asked.plan).map_err(|refused| anyhow!("--checkpoint {asked}: {refused}"))?;
    let others = others(&chain);
    Ok(if as_json {
        as_one_object(asked, case, &chain, &planned, &others).to_string()
    } else {
        text(asked, case, &chain, &planned, &others)
    })
}

/// All other plans, by what is typed for them.
fn others(chain: &Chain) -> Vec<(String, Simulated)> {
    let stages = chain.stages.len();
    let segments = (1..stages).map(|count| (format!("sequential:{count}"), sequential(stages, count)));
    let slots = (1..=stages).map(|count| (format!("revolve:{count}"), revolve(stages, count)));
    let costs = |schedule: Option<Schedule>| simulate(chain, &schedule?).ok();
    let mut others: Vec<(String, Simulated)> =
        segments.chain(slots).filter_map(|(name, schedule)| Some((name, costs(schedule)?))).collect();
    let in_bytes = Persistent::new(chain, UNITS);
    let in_bytes = in_bytes.schedules();
    let every = in_bytes.len().div_ceil(SHOWN).max(1);
    // Counted from the smallest, which is always shown.
    let picked = in_bytes.iter().rev().step_by(every).rev();
    others.extend(picked.map(|(_, simulated)| (format!("bytes:{}", simulated.peak_bytes), *simulated)));
    others
}

fn as_one_object(
    asked: &Asked,
    case: &Case,
    chain: &Chain,
    planned: &Planned,
    others: &[(String, Simulated)],
) -> Value {
    let costs = |simulated: &Simulated| {
        json!({
            "peak_bytes": simulated.peak_bytes, "ns": simulated.ns, "recompute_ns": simulated.recompute_ns,
            "recomputed": simulated.recomputed,
        })
    };
    let parts = chain.stages.iter().map(|stage| {
        json!({
            "name": stage.name, "output_bytes": stage.output_bytes, "saved_bytes": stage.saved_bytes,
            "saved_and_output_bytes": stage.saved_and_output_bytes, "gradient_bytes": stage.gradient_bytes,
            "forward_peak_bytes": stage.forward_peak_bytes, "saving_peak_bytes": stage.saving_peak_bytes,
            "backward_peak_bytes": stage.backward_peak_bytes, "forward_ns": stage.forward_ns,
            "backward_ns": stage.backward_ns,
        })
    });
    let others: Vec<Value> = others
        .iter()
        .map(|(name, simulated)| {
            let mut other = costs(simulated);
            other["plan"] = json!(name);
            other
        })
        .collect();
    json!({
        "model": case.model.as_str(), "batch": case.batch, "image_size": case.size, "plan": asked.to_string(),
        "fixed_bytes": chain.fixed_bytes, "update_peak_bytes": chain.update_peak_bytes, "parts": parts.collect::<Vec<_>>(),
        "schedule": planned.schedule.to_string(), "planned": costs(&planned.simulated), "others": others,
    })
}

fn text(asked: &Asked, case: &Case, chain: &Chain, planned: &Planned, others: &[(String, Simulated)]) -> String {
    let rows = chain.stages.iter().enumerate().map(|(index, stage)| {
        let bytes = [stage.output_bytes, stage.saved_bytes, stage.gradient_bytes, stage.backward_peak_bytes].map(mib);
        let times = [stage.forward_ns, stage.backward_ns].map(milliseconds);
        [(index + 1).to_string(), stage.name.clone()].into_iter().chain(bytes).chain(times).collect()
    });
    let heads = [">", "part", ">its map", ">saves", ">gradients", ">backward takes", ">forward", ">backward"];
    let mut text = format!(
        "{}, batch {}, {}: {} parts and the loss, as measured; {} are there throughout\n\n{}\n\n",
        case.model,
        case.batch,
        case.model.input_text(case.size),
        chain.stages.len() - 1,
        mib(chain.fixed_bytes),
        table(&heads, rows)
    );
    let segments = match asked.plan {
        Plan::BestSequential => format!(", {} segments", best_sequential(chain).0),
        _ => String::new(),
    };
    text.push_str(&format!(
        "{asked}{segments}: peak in {} (c: keeps what it reads, .: keeps nothing, s: saves all, <: backward)\n{}\n\n",
        place(chain, planned),
        draw(chain.stages.len(), &planned.schedule)
    ));
    let whole = chain.least_ns();
    let row = |name: &str, simulated: &Simulated| {
        let part = 100.0 * simulated.recompute_ns as f64 / whole as f64;
        vec![
            name.to_owned(),
            simulated.peak_bytes.to_string(),
            simulated.recomputed.to_string(),
            milliseconds(simulated.recompute_ns),
            format!("{part:.1} %"),
        ]
    };
    let rows = [(asked.to_string(), planned.simulated)]
        .iter()
        .chain(others)
        .map(|(name, costs)| row(name, costs))
        .collect::<Vec<_>>();
    text.push_str(&table(&["plan", ">peak in bytes", ">forward again", ">time of that", ">of a step"], rows));
    text
}
