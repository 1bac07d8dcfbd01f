//! What must be true of the files that a virtual machine with control groups of version 2 has left.
use crate::virtual_machine::check::Check;
use crate::virtual_machine::left::{Left, bytes};

const MIB: i64 = 1 << 20;

/// All checks, in the order in which the programs ran.
pub fn all(left: &Left) -> Vec<Check> {
    vec![
        Check { name: "a program that grows is killed at its limit", said: killed(left) },
        Check { name: "it says that the limit comes near", said: said_so(left) },
        Check { name: "its log names who broke the limit", said: named(left) },
        Check { name: "the lines of the book sum to RSS", said: left.account_closes("book.json") },
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

    #[test]
    fn a_machine_that_left_nothing_passes_no_check() {
        assert!(all(&Left::default()).iter().all(|check| check.is_broken()));
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
            beyond(&Left::of(&[("book.json", &serde_json::json!({ "beyond": lines }).to_string())]))
        };
        assert_eq!(
            account(120).as_deref(),
            Ok("PSS 100, (unexplained 20), memory.current 120, memory.max 419430400, swap of the group 7")
        );
        assert!(account(121).is_err_and(|wrong| wrong.starts_with("memory.current is 121")));
    }
}
