//! What the benchmark says: numbers with their conditions.

use std::process::Command;

use serde_json::{Map, Value, json};

use super::Measurement;
use super::pair::{Compared, median, range};
use crate::workspace::Workspace;

/// Pairs that disagree by more than this are called noisy.
const NOISY: f64 = 0.10;

/// A few lines for people.
pub fn text(key: &str, title: &str, compared: &Compared) -> String {
    let (low, high) = range(&compared.ratios());
    let seconds = |values: &[f64]| median(values) / 1e9;
    let mut text = format!(
        "{key}: {:.3}\n  {title}\n  {:.4} s / {:.4} s (medians); {} pairs, ratio from {low:.3} to {high:.3}",
        compared.ratio(),
        seconds(&compared.a),
        seconds(&compared.b),
        compared.a.len(),
    );
    if compared.spread() > NOISY {
        text.push_str(&format!(
            "\n  noisy: the pairs disagree by {:.0} %; run again on an idle machine",
            compared.spread() * 100.0
        ));
    }
    text
}

/// One object: every key with its ratio, then how each was measured, then the machine.
pub fn json(workspace: &Workspace, answers: &[(Measurement, Compared)]) -> Value {
    let mut object = Map::new();
    let mut details = Map::new();
    for (measurement, compared) in answers {
        object.insert(measurement.key.to_owned(), json!(compared.ratio()));
        details.insert(measurement.key.to_owned(), detail(measurement.title, compared));
    }
    object.insert("details".to_owned(), Value::Object(details));
    object.insert("conditions".to_owned(), conditions(workspace));
    Value::Object(object)
}

fn detail(title: &str, compared: &Compared) -> Value {
    let (low, high) = range(&compared.ratios());
    json!({
        "title": title,
        "pairs": compared.a.len(),
        "ratio_min": low,
        "ratio_max": high,
        "noisy": compared.spread() > NOISY,
        "a_ns": compared.a,
        "b_ns": compared.b,
    })
}

fn conditions(workspace: &Workspace) -> Value {
    let first_line = |path: &str| std::fs::read_to_string(path).ok()?.lines().next().map(str::to_owned);
    let cpu = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| cpu_model(&text).map(str::to_owned));
    let git = Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(workspace.root()).output();
    let commit = git.ok().filter(|output| output.status.success());
    json!({
        "commit": commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        "cpu": cpu,
        "cpus": std::thread::available_parallelism().map_or(1, usize::from),
        "kernel": first_line("/proc/sys/kernel/osrelease"),
        "load_average": first_line("/proc/loadavg"),
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

    #[test]
    fn the_text_gives_the_ratio_with_its_spread() {
        let compared = Compared { a: vec![1.02e9, 1.04e9], b: vec![1e9, 1e9] };
        assert_eq!(
            text("key", "tracked / untracked", &compared),
            "key: 1.030\n  tracked / untracked\n  1.0300 s / 1.0000 s (medians); 2 pairs, ratio from 1.020 to 1.040"
        );
    }

    #[test]
    fn pairs_that_disagree_are_called_noisy() {
        let compared = Compared { a: vec![1e9, 1.5e9], b: vec![1e9, 1e9] };
        let text = text("key", "t", &compared);
        assert!(text.ends_with("noisy: the pairs disagree by 40 %; run again on an idle machine"), "{text}");
    }

    #[test]
    fn the_cpu_is_read_from_cpuinfo() {
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: Some CPU @ 2 GHz\n"), Some("Some CPU @ 2 GHz"));
    }
}
