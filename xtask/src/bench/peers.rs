//! Other memory profilers on the same workloads, each against the same program without it, with fewer pairs because some
//! of them take a hundred times as long. What is not installed is named and skipped.

use std::process::Command;

use anyhow::Result;
use comfy_table::Table;
use comfy_table::presets::ASCII_MARKDOWN;
use serde_json::{Value, json};

use super::Bench;
use super::answer::time;
use super::rounds::{median, rounds};
use super::workload::{Took, compared, took, unsteered};
use crate::child::{self, Programs};
use crate::prerequisite::quiet;
use crate::progress::Step;

/// The workspace of the crates among the peers: built here and by nobody else, because jemalloc with its own profiler
/// would be the jemalloc of every program that is built along with it.
const MANIFEST: &str = "tests/peers/Cargo.toml";

/// A workload and its arguments.
type Workload = (&'static str, &'static [&'static str]);

/// For those that cost about as much as what they watch: as much work as in the table.
const FULL: [Workload; 3] = [("churn", &["10000000", "1"]), ("churn", &["10000000", "2"]), ("json", &["4"])];

/// For those that cost tens of times as much.
const SHORT: [Workload; 3] = [("churn", &["1000000", "1"]), ("churn", &["1000000", "2"]), ("json", &["1"])];

/// How a peer comes to the workload.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// A command that runs the program over glibc.
    Tool(&'static [&'static str]),
    /// A program that has it built in, with what is set in its environment.
    Crate(&'static str, Option<(&'static str, &'static str)>),
}

struct Peer {
    name: &'static str,
    way: Way,
    /// The allocator below it: `glibc` or `jemalloc`.
    over: &'static str,
    workloads: [Workload; 3],
}

const JEMALLOC_PROF: Option<(&str, &str)> = Some(("_RJEM_MALLOC_CONF", "prof:true,prof_active:true"));

const fn peer(name: &'static str, way: Way, over: &'static str, workloads: [Workload; 3]) -> Peer {
    Peer { name, way, over, workloads }
}

const PEERS: [Peer; 8] = [
    peer("this tracker", Way::Crate("tracked", None), "jemalloc", FULL),
    peer("jemalloc's own sampling", Way::Crate("peer-jemalloc-prof", JEMALLOC_PROF), "jemalloc", FULL),
    peer("tracking-allocator", Way::Crate("peer-tracking-allocator", None), "jemalloc", FULL),
    peer("stats_alloc", Way::Crate("peer-stats-alloc", None), "glibc", FULL),
    peer("dhat (crate)", Way::Crate("peer-dhat", None), "glibc", SHORT),
    peer("heaptrack", Way::Tool(&["heaptrack", "--output"]), "glibc", SHORT),
    peer("valgrind massif", Way::Tool(&["valgrind", "--tool=massif", "--massif-out-file=/dev/null"]), "glibc", SHORT),
    peer("valgrind dhat", Way::Tool(&["valgrind", "--tool=dhat", "--dhat-out-file=/dev/null"]), "glibc", SHORT),
];

/// What one peer took for one workload.
pub struct Line {
    peer: &'static str,
    workload: String,
    over: &'static str,
    found: Result<Times, String>,
}

/// Round by round, the peer, the allocator below it without the peer, and plain jemalloc.
struct Times {
    peer: Vec<Took>,
    own: Vec<Took>,
    jemalloc: Vec<Took>,
}

impl Times {
    /// The peer's median, in nanoseconds on the wall clock.
    fn nanoseconds(&self) -> f64 {
        median(&self.peer.iter().map(|took| took.wall).collect::<Vec<_>>())
    }

    /// What the peer took over what its own allocator and jemalloc took, on a clock.
    fn ratios(&self, clock: fn(&Took) -> f64) -> [f64; 2] {
        [&self.own, &self.jemalloc].map(|other| compared(&self.peer, other, clock).ratio())
    }
}

/// All peers on all workloads.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<Line>> {
    let crates = child::build(bench.workspace, &["--manifest-path", MANIFEST, "--target-dir", "target/peers"]);
    let crates = crates.map_err(|error| format!("tests/peers cannot be built: {error}"));
    let step = Step::parts("bench: peers", PEERS.iter().map(|peer| peer.workloads.len() as u64).sum());
    let mut lines = Vec::new();
    for peer in &PEERS {
        let why = match (peer.way, &crates) {
            (Way::Tool(tool), _) if !quiet(Command::new(tool[0]).arg("--version")) => {
                Some(format!("{0} is not installed (on Debian or Ubuntu `sudo apt-get install {0}`)", tool[0]))
            }
            (Way::Crate(name, _), Err(why)) if name != "tracked" => Some(why.clone()),
            _ => None,
        };
        if let Some(why) = &why {
            eprintln!("bench: {} is SKIPPED: {why}", peer.name);
        }
        for (workload, arguments) in peer.workloads {
            let found = match &why {
                Some(why) => Err(why.clone()),
                // A profiler that fails on this machine is no reason to keep the others' numbers back.
                None => times(bench, crates.as_ref().ok(), peer, workload, arguments, &step).map_err(|error| {
                    eprintln!("bench: {} is SKIPPED: {error}", peer.name);
                    error.to_string().lines().next().unwrap_or_default().to_owned()
                }),
            };
            let workload = format!("{workload} {}", arguments.join(" "));
            lines.push(Line { peer: peer.name, workload, over: peer.over, found });
            step.add(1);
        }
    }
    step.done("");
    Ok(lines)
}

fn times(
    bench: &Bench<'_>,
    crates: Option<&Programs>,
    peer: &Peer,
    workload: &str,
    arguments: &[&str],
    step: &Step,
) -> Result<Times> {
    let plain = |allocator: &str| bench.workloads.command(bench.workspace, &format!("{workload}-{allocator}"));
    let scratch = tempfile::tempdir()?;
    let mut times = rounds(bench.rounds(7, 3), 3, |contender| {
        let mut command = match contender {
            1 => unsteered(plain(peer.over)?),
            2 => unsteered(plain("jemalloc")?),
            _ => match (peer.way, crates) {
                (Way::Tool(tool), _) => {
                    let mut command = Command::new(tool[0]);
                    command.args(&tool[1..]);
                    if tool.last() == Some(&"--output") {
                        command.arg(scratch.path().join("recorded"));
                    }
                    command.arg(plain("glibc")?.get_program());
                    // heaptrack would open its window at the end.
                    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
                    unsteered(command)
                }
                (Way::Crate(name, variable), Some(crates)) if name.starts_with("peer-") => {
                    let mut command = unsteered(crates.command(bench.workspace, name)?);
                    command.arg(workload).envs(variable);
                    command
                }
                _ => unsteered(plain("tracked")?),
            },
        };
        // What a profiler leaves when the program ends goes with the folder.
        command.current_dir(scratch.path()).args(arguments);
        took(&mut command, step)
    })?;
    let jemalloc = times.pop().unwrap_or_default();
    let own = times.pop().unwrap_or_default();
    Ok(Times { peer: times.pop().unwrap_or_default(), own, jemalloc })
}

/// The table.
pub fn text(lines: &[Line]) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    let heads =
        ["profiler", "workload", "a pair or record", "/ without it", "/ plain jemalloc", "the same in CPU time"];
    table.set_header(heads);
    for line in lines {
        let cells = match &line.found {
            Ok(times) => {
                let [own, jemalloc] = times.ratios(|took| took.wall).map(|ratio| format!("{ratio:.2}"));
                let cpu = times.ratios(|took| took.cpu).map(|ratio| format!("{ratio:.2}")).join(", ");
                [time(times.nanoseconds()), format!("{own} ({})", line.over), jemalloc, cpu]
            }
            Err(why) => [format!("skipped: {why}"), String::new(), String::new(), String::new()],
        };
        let [measured, own, jemalloc, cpu] = cells;
        table.add_row([line.peer.to_owned(), line.workload.clone(), measured, own, jemalloc, cpu]);
    }
    table.to_string()
}

/// A list of objects.
pub fn json(lines: &[Line]) -> Value {
    let object = |line: &Line| {
        let mut object = json!({ "peer": line.peer, "workload": line.workload, "over": line.over });
        match &line.found {
            Ok(times) => {
                let [own, jemalloc] = times.ratios(|took| took.wall);
                let [own_cpu, jemalloc_cpu] = times.ratios(|took| took.cpu);
                object["ns"] = json!(times.nanoseconds());
                object["vs_untracked"] = json!(own);
                object["vs_untracked_cpu_time"] = json!(own_cpu);
                object["vs_jemalloc"] = json!(jemalloc);
                object["vs_jemalloc_cpu_time"] = json!(jemalloc_cpu);
                object["runs"] = json!(times.peer.len());
            }
            Err(why) => object["skipped"] = json!(why),
        }
        object
    };
    lines.iter().map(object).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines() -> Vec<Line> {
        let line = |found| Line { peer: "some", workload: "churn 1 1".to_owned(), over: "glibc", found };
        let took = |wall| vec![Took { wall, cpu: 30.0 }];
        let times = Times { peer: took(60.0), own: took(30.0), jemalloc: took(15.0) };
        vec![line(Ok(times)), line(Err("not installed".to_owned()))]
    }

    #[test]
    fn a_peer_is_held_against_its_own_allocator_and_against_jemalloc() {
        let json = json(&lines());
        assert_eq!(
            (&json[0]["ns"], &json[0]["vs_untracked"], &json[0]["vs_jemalloc"]),
            (&60.0.into(), &2.0.into(), &4.0.into())
        );
        assert_eq!(json[1]["skipped"], "not installed");
    }

    #[test]
    fn a_skipped_peer_is_named_with_its_reason() {
        let text = text(&lines());
        assert!(
            text.contains("2.00 (glibc)") && text.contains("1.00, 1.00") && text.contains("skipped: not installed"),
            "{text}"
        );
    }
}
