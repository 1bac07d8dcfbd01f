//! What must be true of the files that a virtual machine with control groups of version 2 has left.
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

const MIB: i64 = 1 << 20;

/// One thing that must be true: what was seen, or what is wrong.
#[derive(Debug)]
pub struct Check {
    /// What is checked.
    pub name: &'static str,
    /// What was seen; the error is what is wrong.
    pub said: Result<String, String>,
}

/// The texts that the virtual machine left, by the names of their files.
#[derive(Debug, Default)]
pub struct Left(BTreeMap<String, String>);

impl Left {
    /// Reads the files in `folder`.
    pub fn read(folder: &Path) -> Left {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let text = |entry: &std::fs::DirEntry| std::fs::read_to_string(entry.path()).ok();
        Left(entries.filter_map(|entry| Some((entry.file_name().into_string().ok()?, text(&entry)?))).collect())
    }

    /// The kernel that ran.
    pub fn kernel(&self) -> &str {
        self.text("kernel").trim()
    }

    fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn json(&self, name: &str) -> Result<Value, String> {
        let text = self.text(name);
        serde_json::from_str(text).map_err(|error| format!("{name}: {error}: {}", text.trim()))
    }
}

/// All checks, in the order in which the programs ran.
pub fn all(left: &Left) -> Vec<Check> {
    vec![
        Check { name: "a program that grows is killed at its limit", said: killed(left) },
        Check { name: "it says that the limit comes near", said: said_so(left) },
        Check { name: "its log names who broke the limit", said: named(left) },
        Check { name: "the lines of the book sum to RSS", said: book(left) },
        Check { name: "from RSS to memory.max, the lines sum", said: beyond(left) },
        Check { name: "a training run under a limit ends well", said: trained(left) },
    ]
}

fn killed(left: &Left) -> Result<String, String> {
    let json = left.json("killed.json")?;
    let row = &json["rows"][0];
    let counters = &row["counters"];
    let seen = format!("{}, exit code {}, counters {counters}", row["by"], row["exit_code"]);
    // Linux has memory.peak since 5.19.
    let peak = counters["peak_bytes"].as_i64();
    let right = row["by"] == "cgroup-v2"
        && row["broke"] == true
        && row["exit_code"] == 137
        && counters["oom_kills"] == 1
        && counters["limit_hits"].as_i64().is_some_and(|hits| hits > 0)
        && counters["pages_scanned"].is_i64()
        && peak.is_none_or(|peak| peak <= 128 * MIB);
    if right { Ok(seen) } else { Err(seen) }
}

fn said_so(left: &Left) -> Result<String, String> {
    let text = left.text("killed.txt");
    let said = text
        .lines()
        .find(|line| line.starts_with("alloc-tracker: ") && line.contains("left of 128.0 MiB (memory.max of"));
    said.map(str::to_owned).ok_or_else(|| format!("no such line in: {text}"))
}

fn named(left: &Left) -> Result<String, String> {
    let text = left.text("recovered.txt");
    let said = text.lines().find(|line| line.starts_with("layer greedy broke the limit"));
    said.map(str::to_owned).ok_or_else(|| format!("no such line in: {text}"))
}

/// The bytes of a line; none where it could not be read.
fn bytes(line: &Value) -> Option<i64> {
    line["bytes"].as_i64()
}

fn book(left: &Left) -> Result<String, String> {
    let json = left.json("book.json")?;
    let lines = json["lines"].as_array().ok_or("no lines")?;
    let sum: i64 = lines.iter().filter_map(bytes).sum();
    let rss = json["rss_bytes"].as_i64().ok_or("no RSS")?;
    let last = lines.last().map(|line| (&line["name"], bytes(line)));
    let unexplained = match last {
        Some((name, Some(bytes))) if name == "unexplained" => bytes,
        other => return Err(format!("the last line is {other:?}")),
    };
    let seen = format!("RSS {rss}, unexplained {unexplained}");
    // The bound that the book promises.
    let small = unexplained.abs() <= (rss / 200).max(MIB);
    if sum == rss && small { Ok(seen) } else { Err(format!("{seen}, the lines sum to {sum}")) }
}

fn beyond(left: &Left) -> Result<String, String> {
    let json = left.json("book.json")?;
    let lines = json["beyond"].as_array().ok_or("there is no such part")?;
    let (mut sum, mut totals) = (None, Vec::new());
    for line in lines {
        let name = line["name"].as_str().unwrap_or_default();
        let bytes = bytes(line).ok_or_else(|| format!("{name}: {}", line["source"]))?;
        if line["total"] == true {
            // An account of its own stands behind the limit.
            if sum.is_some_and(|sum| sum != bytes) && name != "swap of the group" {
                return Err(format!("{name} is {bytes}, the lines before sum to {sum:?}"));
            }
            totals.push(format!("{name} {bytes}"));
            sum = Some(bytes);
        } else {
            if name == "unexplained" {
                totals.push(format!("({name} {bytes})"));
            }
            sum = sum.map(|sum| sum + bytes);
        }
    }
    let seen = totals.join(", ");
    let limit = format!("memory.max {}", 400 * MIB);
    if seen.contains(&limit) && seen.contains("memory.current ") {
        Ok(seen)
    } else {
        Err(format!("{seen}; {limit} is missing"))
    }
}

fn trained(left: &Left) -> Result<String, String> {
    let json = left.json("trained.json")?;
    let row = &json["rows"][0];
    let seen = format!("exit code {}, peak {}, {} ns", row["exit_code"], row["counters"]["peak_bytes"], row["wall_ns"]);
    if row["exit_code"] == 0 && row["run"]["recovered"] == false {
        Ok(seen)
    } else {
        Err(format!("{seen}: {}", left.text("trained.txt")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(files: &[(&str, &str)]) -> Left {
        Left(files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect())
    }

    #[test]
    fn a_machine_that_left_nothing_passes_no_check() {
        assert!(all(&Left::default()).iter().all(|check| check.said.is_err()));
    }

    /// 100 + 20 = 120 are used, and 300 more are room; the limit is 400 MiB.
    #[test]
    fn each_total_is_the_one_before_and_the_steps_between() {
        let account = |current: i64| {
            let line =
                |name: &str, bytes: i64, total: bool| serde_json::json!({"name": name, "bytes": bytes, "total": total});
            let lines = [
                line("PSS", 100, true),
                line("unexplained", 20, false),
                line("memory.current", current, true),
                line("room until the limit", 400 * MIB - 120, false),
                line("memory.max", 400 * MIB, true),
                line("swap of the group", 7, true),
            ];
            beyond(&left(&[("book.json", &serde_json::json!({ "beyond": lines }).to_string())]))
        };
        assert_eq!(
            account(120).as_deref(),
            Ok("PSS 100, (unexplained 20), memory.current 120, memory.max 419430400, swap of the group 7")
        );
        assert!(account(121).is_err_and(|wrong| wrong.starts_with("memory.current is 121")));
    }

    #[test]
    fn a_book_must_sum_and_leave_little() {
        let of = |rest: i64, rss: i64| {
            let lines =
                serde_json::json!([{"name": "requested", "bytes": 5 * MIB}, {"name": "unexplained", "bytes": rest}]);
            book(&left(&[("book.json", &serde_json::json!({"rss_bytes": rss, "lines": lines}).to_string())]))
        };
        assert!(of(-9, 5 * MIB - 9).is_ok());
        assert!(of(-9, 5 * MIB).is_err(), "it does not sum");
        assert!(of(2 * MIB, 7 * MIB).is_err(), "too much is unexplained");
    }
}
