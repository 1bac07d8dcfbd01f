//! The report of the benchmark: a table with limits for people, one object with conditions for programs.

use std::process::Command;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use serde_json::{Map, Value, json};

use super::measurement::Measurement;
use crate::workspace::Workspace;

/// The table.
pub fn text(measurements: &[Measurement]) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_content_arrangement(ContentArrangement::Dynamic);
    table.set_header(["what", "measured", "limit", "", "how"]);
    for measurement in measurements {
        let cells = [measurement.value(), measurement.limit].map(|cell| cell.map_or_else(String::new, number));
        let [value, limit] = cells;
        table.add_row([
            measurement.title.clone(),
            value,
            limit,
            measurement.verdict().to_owned(),
            measurement.detail(),
        ]);
    }
    for column in [1, 2] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.to_string()
}

/// Ratios with three decimals, counts of bytes with none.
fn number(value: f64) -> String {
    if value < 100.0 { format!("{value:.3}") } else { format!("{value:.0}") }
}

/// A number of bytes without a decimal point.
fn whole(value: Option<f64>) -> Value {
    match value {
        Some(value) if value.fract() == 0.0 => json!(value as i64),
        other => json!(other),
    }
}

/// One object: every key with its number, then how each was measured, then the machine.
pub fn json(workspace: &Workspace, measurements: &[Measurement], peers: Option<Value>) -> Value {
    let mut object: Map<String, Value> =
        measurements.iter().map(|measurement| (measurement.key.to_owned(), whole(measurement.value()))).collect();
    let details: Map<String, Value> =
        measurements.iter().map(|measurement| (measurement.key.to_owned(), measurement.json())).collect();
    object.insert("details".to_owned(), Value::Object(details));
    if let Some(peers) = peers {
        object.insert("peers".to_owned(), peers);
    }
    object.insert("conditions".to_owned(), conditions(workspace));
    Value::Object(object)
}

/// The machine and the state of the checkout.
pub fn conditions(workspace: &Workspace) -> Value {
    let first_line = |path: &str| std::fs::read_to_string(path).ok()?.lines().next().map(str::to_owned);
    let cpu = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| cpu_model(&text).map(str::to_owned));
    let says = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).current_dir(workspace.root()).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    json!({
        "commit": says("git", &["rev-parse", "--short", "HEAD"]),
        "cpu": cpu,
        "cpus": std::thread::available_parallelism().map_or(1, usize::from),
        "kernel": first_line("/proc/sys/kernel/osrelease"),
        "load_average": first_line("/proc/loadavg"),
        "rustc": says("rustc", &["--version"]),
        "valgrind": says("valgrind", &["--version"]),
        "heaptrack": says("heaptrack", &["--version"]),
        "seed": 1,
    })
}

fn cpu_model(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::measurement::Reading;

    fn measurements() -> [Measurement; 2] {
        let measurement = |key, reading| Measurement { key, title: format!("the {key}"), limit: Some(40.0), reading };
        [
            measurement("cost", Reading::Number(100.25, "callgrind".to_owned())),
            measurement("other", Reading::Skipped("no valgrind".to_owned())),
        ]
    }

    #[test]
    fn the_table_says_what_is_over_its_limit() {
        let text = text(&measurements());
        let row = text.lines().find(|line| line.contains("the cost")).unwrap();
        let words: Vec<&str> = row.split([' ', '|']).filter(|word| !word.is_empty()).collect();
        assert_eq!(words, ["the", "cost", "100", "40.000", "not", "met", "callgrind"]);
        assert!(text.contains("no valgrind"), "{text}");
    }

    #[test]
    fn what_could_not_be_measured_is_null() {
        let json = json(&Workspace::at(std::path::Path::new("/")), &measurements(), None);
        assert_eq!(json["cost"], 100.25);
        assert_eq!(whole(Some(4096.0)).to_string(), "4096");
        assert_eq!(json.get("other"), Some(&Value::Null));
        assert_eq!(json["details"]["other"]["skipped"], "no valgrind");
        assert!(json.get("peers").is_none());
    }

    #[test]
    fn the_cpu_is_read_from_cpuinfo() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n"), Some("Some CPU @ 2 GHz"));
    }
}
