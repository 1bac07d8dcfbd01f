//! The changes as a table, and as JSON.
use serde_json::json;
use trainer_statistics::median;

use super::row::{Measured, Row};
use crate::child::Job;
use crate::figures::{mib, milliseconds, table};

/// Layers that are named beside a change; `--json` has all.
const LAYERS: usize = 1;

/// What stands below the table.
const NOTE: &str = "\
peaks are live bytes, as the tracker counts them. time: of a step, in times of the step as it is; the median of
the rounds. for a lost ms: bytes saved for each millisecond that a step is known to take longer. First comes what saves bytes and is not
known to cost time, then what saves most for a lost millisecond, and last what saves nothing.";

/// What is printed in the end.
pub(super) struct Advice<'a> {
    pub(super) job: &'a Job<'a>,
    pub(super) repeat: u64,
    pub(super) plain: &'a Measured,
    /// Best first.
    pub(super) rows: &'a [Row],
    /// What could not be run, and why.
    pub(super) failed: &'a [(String, String)],
}

impl Advice<'_> {
    pub(super) fn text(&self) -> String {
        let Job { model, batch, work, threads, optimizer, .. } = *self.job;
        let input = model.input_text(work.input.size(model));
        let (peak, step) = (median(&self.plain.peaks) as u64, median(&self.plain.step_ns) as u64);
        let mut text = format!(
            "{model}, training, batch {batch}, {input}, {optimizer}, {threads} thread(s): {} live at the peak, {} a step\n",
            mib(peak),
            milliseconds(step)
        );
        let heads =
            ["change", ">peak", ">saved", ">time", ">95 % of it", ">for a lost ms", "most in", "what is learned"];
        text.push_str(&table(&heads, self.rows.iter().map(cells)));
        for (change, reason) in self.failed {
            text.push_str(&format!("\nnot run: {change}: {reason}"));
        }
        text.push_str(&format!("\n{} runs each, in turns; {NOTE}", self.repeat));
        text
    }

    pub(super) fn json(&self) -> String {
        let Job { model, batch, work, threads, optimizer, .. } = *self.job;
        let failed: Vec<_> =
            self.failed.iter().map(|(change, reason)| json!({"change": change, "reason": reason})).collect();
        let object = json!({
            "model": model.as_str(), "batch": batch, "size": work.input.size(model), "threads": threads,
            "optimizer": optimizer.name.as_str(), "momentum": optimizer.momentum(), "repeat": self.repeat,
            "peak_bytes": median(&self.plain.peaks), "step_ns": median(&self.plain.step_ns),
            "peak_by_layer": self.plain.by_layer, "changes": self.rows, "not_run": failed,
        });
        object.to_string()
    }
}

fn cells(row: &Row) -> Vec<String> {
    let layers = row.layers(LAYERS).into_iter().map(|(layer, bytes)| {
        let layer = if layer.is_empty() { "(none)" } else { layer };
        format!("{layer} {}", signed(-bytes as f64))
    });
    let worth = match row.bytes_a_lost_second {
        Some(bytes) => mib((bytes / 1e3) as u64),
        None if row.time_high < 1.0 => "faster".to_owned(),
        None if row.time_low <= 1.0 => "no loss known".to_owned(),
        None => "slower".to_owned(),
    };
    vec![
        row.change.clone(),
        mib(row.peak_bytes as u64),
        signed(row.saved_bytes),
        format!("{:.2}", row.time),
        format!("{:.2} to {:.2}", row.time_low, row.time_high),
        worth,
        layers.collect::<Vec<_>>().join(", "),
        row.result.to_owned(),
    ]
}

/// `-12.0 MiB`.
fn signed(bytes: f64) -> String {
    let sign = if bytes < 0.0 { "-" } else { "" };
    format!("{sign}{}", mib(bytes.abs() as u64))
}
