//! The rows as files: limits.csv, layers.csv, limits.json and limits.svg.
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;

use super::plot;
use super::row::Row;

/// Writes all of them into `folder`.
pub(super) fn write(rows: &[Row], command: &[OsString], folder: &Path) -> Result<()> {
    let words: Vec<String> = command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let object = json!({ "command": words, "rows": rows });
    let texts = [
        ("limits.csv", limits(rows)),
        ("layers.csv", layers(rows)),
        ("limits.json", format!("{object:#}\n")),
        ("limits.svg", plot::plot(rows, &words.join(" "))?),
    ];
    for (name, text) in texts {
        let path = folder.join(name);
        std::fs::write(&path, text)
            .with_context(|| format!("{}: cannot be written; choose another folder with --out", path.display()))?;
    }
    Ok(())
}

/// A number, or nothing where there is none.
fn cell(number: Option<u64>) -> String {
    number.map_or(String::new(), |number| number.to_string())
}

/// One line a limit. Bytes and nanoseconds.
fn limits(rows: &[Row]) -> String {
    let mut text = String::from(
        "limit_bytes,by,exit_code,broke,wall_ns,steps,step_ns,peak_bytes,unreclaimable_peak_bytes,peak_live_bytes,limit_hits,\
         pages_scanned,pages_reclaimed,file_refaults,swap_refaults,major_faults,oom_kills\n",
    );
    for row in rows {
        let counters = &row.counters;
        let run = row.run.as_ref();
        let numbers = [
            run.map(|run| run.steps as u64),
            run.and_then(|run| run.step_ns),
            counters.peak_bytes,
            row.unreclaimable_peak_bytes,
            run.map(|run| run.peak_live_bytes),
            counters.limit_hits,
            counters.pages_scanned,
            counters.pages_reclaimed,
            counters.file_refaults,
            counters.swap_refaults,
            counters.major_faults,
            counters.oom_kills,
        ];
        let numbers = numbers.map(cell).join(",");
        let limit = row.limit_bytes.map_or("none".to_owned(), |bytes| bytes.to_string());
        // Writing to a string cannot fail.
        let broke = row.broke.map_or(String::new(), |broke| broke.to_string());
        let _ = writeln!(text, "{limit},{},{},{broke},{},{numbers}", row.by, row.exit_code, row.wall_ns);
    }
    text
}

/// One line a limit and layer.
fn layers(rows: &[Row]) -> String {
    let mut text = String::from("limit_bytes,layer,peak_bytes,init_ns,forward_ns,backward_ns\n");
    for row in rows {
        let limit = row.limit_bytes.map_or("none".to_owned(), |bytes| bytes.to_string());
        for (name, layer) in row.run.iter().flat_map(|run| &run.layers) {
            let times = [layer.init_ns, layer.forward_ns, layer.backward_ns].map(cell).join(",");
            let _ = writeln!(text, "{limit},{},{},{times}", quoted(name), layer.peak_bytes);
        }
    }
    text
}

/// A name as a field of CSV (RFC 4180).
fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::Counters;
    use crate::limited::row::{Layer, RunRow};

    #[test]
    fn files_of_one_row() {
        let layer = Layer { peak_bytes: 3, init_ns: Some(2), forward_ns: None, backward_ns: Some(8) };
        let row = Row {
            limit_bytes: None,
            by: "cgroup-v2",
            exit_code: 0,
            broke: Some(false),
            wall_ns: 9,
            unreclaimable_peak_bytes: Some(5),
            counters: Counters { peak_bytes: Some(6), ..Counters::default() },
            run: Some(RunRow {
                timeline: "a.timeline.json".to_owned(),
                recovered: false,
                steps: 2,
                step_ns: Some(7),
                peak_live_bytes: 4,
                culprit: None,
                layers: [("a,b".to_owned(), layer)].into(),
            }),
        };
        let folder = tempfile::tempdir().expect("a folder");
        write(std::slice::from_ref(&row), &["true".into()], folder.path()).expect("written");
        let text = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("the file");
        assert_eq!(text("limits.csv").lines().nth(1), Some("none,cgroup-v2,0,false,9,2,7,6,5,4,,,,,,,"));
        assert_eq!(text("layers.csv").lines().nth(1), Some("none,\"a,b\",3,2,,8"));
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&text("limits.json")).expect("JSON")["rows"][0]["wall_ns"],
            9
        );
        assert!(text("limits.svg").starts_with("<svg"), "{}", text("limits.svg"));
    }
}
