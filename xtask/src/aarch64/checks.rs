//! What must be true of the files that the emulated machine has left.
use serde_json::Value;

use crate::virtual_machine::check::Check;
use crate::virtual_machine::left::Left;

/// All checks, in the order in which the programs ran. `here` is the timeline of the program in C on this machine.
pub fn all(left: &Left, here: &Value) -> Vec<Check> {
    vec![
        Check { name: "the tests of the tracker pass", said: tests(left) },
        Check { name: "a program in C ends as it should", said: ends_well(left, "c.txt") },
        Check { name: "its peak and its blocks are those of the same source here", said: as_here(left, here) },
        Check { name: "its calls have names and lines", said: named(left) },
        Check { name: "the account of the program in C closes to RSS", said: left.account_closes("c.json") },
        Check { name: "the tracker's tables are small", said: tables(left) },
        Check { name: "a program in Python ends as it should", said: ends_well(left, "python.txt") },
        Check { name: "its imports are layers", said: imports(left) },
        Check { name: "the account of the program in Python closes to RSS", said: left.account_closes("python.json") },
    ]
}

fn tests(left: &Left) -> Result<String, String> {
    let text = left.text("tests.txt");
    let last = text.lines().rev().find(|line| line.starts_with("test result: ")).unwrap_or("they did not end");
    if last.starts_with("test result: ok. ") {
        return Ok(last.to_owned());
    }
    let failed: Vec<&str> = text.lines().filter(|line| line.ends_with("FAILED")).collect();
    Err(format!("{last}: {}", failed.join(", ")))
}

fn ends_well(left: &Left, name: &str) -> Result<String, String> {
    let text = left.text(name);
    let said = text.lines().find(|line| line.starts_with("ends well"));
    said.map(str::to_owned).ok_or_else(|| format!("it said last: {}", text.lines().last().unwrap_or("nothing")))
}

/// What a timeline says of all blocks. (The C library makes some of its own, as many on each machine.)
fn blocks(timeline: &Value) -> Option<[u64; 3]> {
    let [peak, allocated, freed] = ["/peak/live_bytes", "/totals/allocations", "/totals/frees"]
        .map(|field| timeline.pointer(field).and_then(Value::as_u64));
    Some([peak?, allocated?, freed?])
}

fn as_here(left: &Left, here: &Value) -> Result<String, String> {
    let there = left.json("c.timeline.json")?;
    let [there, here] = [blocks(&there), blocks(here)];
    let [peak, allocated, freed] = there.ok_or("the timeline does not say")?;
    let seen = format!("{peak} bytes, {allocated} allocated, {freed} freed");
    if there == here { Ok(seen) } else { Err(format!("{seen}; here {here:?}")) }
}

fn named(left: &Left) -> Result<String, String> {
    let text = left.text("c.txt");
    if let Some(cut) = text.lines().find(|line| line.contains("the outer calls could not be found")) {
        return Err(cut.trim().to_owned());
    }
    let said = text.lines().find(|line| line.contains("filled (program.c:") && line.contains("make_large < main"));
    said.map(|line| line.trim().to_owned()).ok_or_else(|| "no stack has the calls of the largest block".to_owned())
}

/// The tables take some hundred KiB: a huge page of one of them would be 2 MiB, or 32 where pages have 16 KiB.
fn tables(left: &Left) -> Result<String, String> {
    let json = left.json("c.json")?;
    let lines = json["lines"].as_array().ok_or("no lines")?;
    let tracker = lines.iter().find(|line| line["name"] == "tracker").ok_or("no line for the tracker")?;
    let part = tracker["parts"].as_array().into_iter().flatten().find(|part| part["name"] == "tables");
    // What is small has no name of its own among the parts.
    let bytes = part.map_or(Some(0), |part| part["bytes"].as_u64()).ok_or("its tables have no bytes")?;
    let seen = format!("{bytes} bytes");
    if bytes < 2 << 20 { Ok(seen) } else { Err(seen) }
}

fn imports(left: &Left) -> Result<String, String> {
    let timeline = left.json("python.timeline.json")?;
    let scopes = timeline["scopes"].as_array().ok_or("no scopes")?;
    let layers = scopes.iter().filter(|scope| scope["phase"] == "import").filter_map(|scope| scope["layer"].as_str());
    let layers: Vec<&str> = layers.collect();
    let is_there = layers.contains(&"import collections") || layers.contains(&"import threading");
    let seen = format!("{} layers", layers.len());
    if is_there { Ok(seen) } else { Err(format!("{seen}: {}", layers.join(", "))) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_machine_that_left_nothing_passes_no_check() {
        assert!(all(&Left::default(), &Value::Null).iter().all(Check::is_broken));
    }

    #[test]
    fn other_blocks_than_here_are_wrong() {
        let timeline = |peak: u64| json!({"peak": {"live_bytes": peak}, "totals": {"allocations": 5, "frees": 4}});
        let left = Left::of(&[("c.timeline.json", &timeline(7).to_string())]);
        assert_eq!(as_here(&left, &timeline(7)).as_deref(), Ok("7 bytes, 5 allocated, 4 freed"));
        assert!(as_here(&left, &timeline(8)).is_err());
    }

    #[test]
    fn a_huge_page_of_a_table_is_wrong() {
        let of = |bytes: u64| {
            let tracker = json!({"name": "tracker", "parts": [{"name": "tables", "bytes": bytes}]});
            tables(&Left::of(&[("c.json", &json!({"lines": [tracker]}).to_string())]))
        };
        assert_eq!((of(65_536).as_deref(), of(32 << 20).is_err()), (Ok("65536 bytes"), true));
    }
}
