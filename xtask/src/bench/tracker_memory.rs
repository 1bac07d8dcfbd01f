//! The tracker's memory on a run, as the run's timeline has it.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::measurement::{Measurement, Reading};

const MIB: f64 = 1_048_576.0;

/// A row whose limit is 1 % of the peak's live bytes and 16 MiB.
pub fn row(key: &'static str, title: String, timeline: &Path) -> Result<Measurement> {
    let text = std::fs::read_to_string(timeline).context("the tracked run left no timeline")?;
    let timeline: Value = serde_json::from_str(&text)?;
    let number = |pointer: &str| timeline.pointer(pointer).and_then(Value::as_u64).with_context(|| pointer.to_owned());
    let (bytes, peak) = (number("/tracker/overhead_bytes")?, number("/peak/live_bytes")?);
    let parts = timeline.pointer("/tracker/overhead").and_then(Value::as_object);
    let part = |(name, bytes): (&String, &Value)| format!("{name} {:.1}", bytes.as_f64().unwrap_or(0.0) / MIB);
    let parts: Vec<String> = parts.into_iter().flatten().map(part).collect();
    let detail = format!("MiB: {}; peak {:.0}", parts.join(", "), peak as f64 / MIB);
    let limit = Some(peak as f64 / 100.0 + 16.0 * MIB);
    Ok(Measurement { key, title, limit, reading: Reading::Number(bytes as f64, detail) })
}
