//! Other memory profilers on the same workloads, each against the same program without it, with fewer pairs because some
//! of them take a hundred times as long. What is not installed is named and skipped.

use std::process::Command;

use anyhow::Result;
use comfy_table::Table;
use comfy_table::presets::ASCII_MARKDOWN;
use serde_json::{Value, json};
use trainer_statistics::median;

use super::context::Bench;
use super::measurement::time;
use super::rounds::rounds;
use super::workload::{Elapsed, compared, run_timed};
use crate::prerequisite::succeeds;
use crate::programs::{self, Programs, without_allocator_settings};
use crate::progress::Progress;

/// The workspace of the peers that are crates. It is built separately: in one build with other programs, they would all
/// get the jemalloc that has its own profiler.
const MANIFEST: &str = "tests/peers/Cargo.toml";

/// A workload and its arguments.
type Workload = (&'static str, &'static [&'static str]);

/// For peers that cost about as much as what they watch: the work of the main table.
const FULL: [Workload; 3] = [("churn", &["10000000", "1"]), ("churn", &["10000000", "2"]), ("json", &["4"])];

/// For peers that cost tens of times as much: less work.
const SHORT: [Workload; 3] = [("churn", &["1000000", "1"]), ("churn", &["1000000", "2"]), ("json", &["1"])];

/// How a peer is put on a workload.
#[derive(Clone, Copy, Debug)]
enum Launch {
    /// A command that runs the program over glibc.
    Tool(&'static [&'static str]),
    /// A program that has it built in, with what is set in its environment.
    Crate(&'static str, Option<(&'static str, &'static str)>),
}

struct Peer {
    name: &'static str,
    launch: Launch,
    /// The allocator below it: `glibc` or `jemalloc`.
    over: &'static str,
    workloads: [Workload; 3],
}

const JEMALLOC_PROF: Option<(&str, &str)> = Some(("_RJEM_MALLOC_CONF", "prof:true,prof_active:true"));

const fn peer(name: &'static str, launch: Launch, over: &'static str, workloads: [Workload; 3]) -> Peer {
    Peer { name, launch, over, workloads }
}

const PEERS: [Peer; 8] = [
    peer("this tracker", Launch::Crate("tracked", None), "jemalloc", FULL),
    peer("jemalloc's own sampling", Launch::Crate("peer-jemalloc-prof", JEMALLOC_PROF), "jemalloc", FULL),
    peer("tracking-allocator", Launch::Crate("peer-tracking-allocator", None), "jemalloc", FULL),
    peer("stats_alloc", Launch::Crate("peer-stats-alloc", None), "glibc", FULL),
    peer("dhat (crate)", Launch::Crate("peer-dhat", None), "glibc", SHORT),
    peer("heaptrack", Launch::Tool(&["heaptrack", "--output"]), "glibc", SHORT),
    peer(
        "valgrind massif",
        Launch::Tool(&["valgrind", "--tool=massif", "--massif-out-file=/dev/null"]),
        "glibc",
        SHORT,
    ),
    peer("valgrind dhat", Launch::Tool(&["valgrind", "--tool=dhat", "--dhat-out-file=/dev/null"]), "glibc", SHORT),
];

/// What one peer took for one workload, as a row of the table.
pub struct PeerRow {
    peer: &'static str,
    workload: String,
    over: &'static str,
    found: Result<Times, String>,
}

/// Round by round, the peer, the allocator below it without the peer, and plain jemalloc.
struct Times {
    peer: Vec<Elapsed>,
    own: Vec<Elapsed>,
    jemalloc: Vec<Elapsed>,
}

impl Times {
    /// The peer's median, in nanoseconds on the wall clock.
    fn nanoseconds(&self) -> f64 {
        median(&self.peer.iter().map(|elapsed| elapsed.wall).collect::<Vec<_>>())
    }

    /// What the peer took over what its own allocator and jemalloc took, on a clock.
    fn ratios(&self, clock: fn(&Elapsed) -> f64) -> [f64; 2] {
        [&self.own, &self.jemalloc].map(|other| compared([&self.peer, other], 1, clock).ratio())
    }
}

/// All peers on all workloads.
pub fn measure(bench: &Bench<'_>) -> Result<Vec<PeerRow>> {
    let crates = programs::build(bench.workspace, &["--manifest-path", MANIFEST, "--target-dir", "target/peers"]);
    let crates = crates.map_err(|error| format!("tests/peers cannot be built: {error}"));
    let progress = Progress::parts("bench: peers", PEERS.iter().map(|peer| peer.workloads.len() as u64).sum());
    let mut rows = Vec::new();
    for peer in &PEERS {
        let why = match (peer.launch, &crates) {
            (Launch::Tool(tool), _) if !succeeds(Command::new(tool[0]).arg("--version")) => {
                Some(format!("{0} is not installed (on Debian or Ubuntu `sudo apt-get install {0}`)", tool[0]))
            }
            (Launch::Crate(name, _), Err(why)) if name != "tracked" => Some(why.clone()),
            _ => None,
        };
        if let Some(why) = &why {
            eprintln!("bench: {} is SKIPPED: {why}", peer.name);
        }
        for (workload, arguments) in peer.workloads {
            let found = match &why {
                Some(why) => Err(why.clone()),
                // A profiler that fails on this machine is no reason to keep the others' numbers back.
                None => times(bench, crates.as_ref().ok(), peer, workload, arguments, &progress).map_err(|error| {
                    eprintln!("bench: {} is SKIPPED: {error}", peer.name);
                    error.to_string().lines().next().unwrap_or_default().to_owned()
                }),
            };
            let workload = format!("{workload} {}", arguments.join(" "));
            rows.push(PeerRow { peer: peer.name, workload, over: peer.over, found });
            progress.add(1);
        }
    }
    progress.done("");
    Ok(rows)
}

fn times(
    bench: &Bench<'_>,
    crates: Option<&Programs>,
    peer: &Peer,
    workload: &str,
    arguments: &[&str],
    progress: &Progress,
) -> Result<Times> {
    let plain = |allocator: &str| bench.workloads.command(bench.workspace, &format!("{workload}-{allocator}"));
    let scratch = tempfile::tempdir()?;
    let mut times = rounds(bench.rounds(7, 3), 3, |contender| {
        let mut command = match contender {
            1 => plain(peer.over)?,
            2 => plain("jemalloc")?,
            _ => match (peer.launch, crates) {
                (Launch::Tool(tool), _) => {
                    let mut command = without_allocator_settings(Command::new(tool[0]));
                    command.args(&tool[1..]);
                    if tool.last() == Some(&"--output") {
                        command.arg(scratch.path().join("recorded"));
                    }
                    command.arg(plain("glibc")?.get_program());
                    // heaptrack would open its window at the end.
                    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
                    command
                }
                (Launch::Crate(name, variable), Some(crates)) if name.starts_with("peer-") => {
                    let mut command = crates.command(bench.workspace, name)?;
                    command.arg(workload).envs(variable);
                    command
                }
                _ => plain("tracked")?,
            },
        };
        // What a profiler leaves when the program ends goes with the folder.
        command.current_dir(scratch.path()).args(arguments);
        run_timed(&mut command, progress)
    })?;
    let jemalloc = times.pop().unwrap_or_default();
    let own = times.pop().unwrap_or_default();
    Ok(Times { peer: times.pop().unwrap_or_default(), own, jemalloc })
}

/// The table.
pub fn text(rows: &[PeerRow]) -> String {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN);
    let heads =
        ["profiler", "workload", "a pair or record", "/ without it", "/ plain jemalloc", "the same in CPU time"];
    table.set_header(heads);
    for row in rows {
        let cells = match &row.found {
            Ok(times) => {
                let [own, jemalloc] = times.ratios(|elapsed| elapsed.wall).map(|ratio| format!("{ratio:.2}"));
                let cpu = times.ratios(|elapsed| elapsed.cpu).map(|ratio| format!("{ratio:.2}")).join(", ");
                [time(times.nanoseconds()), format!("{own} ({})", row.over), jemalloc, cpu]
            }
            Err(why) => [format!("skipped: {why}"), String::new(), String::new(), String::new()],
        };
        let [measured, own, jemalloc, cpu] = cells;
        table.add_row([row.peer.to_owned(), row.workload.clone(), measured, own, jemalloc, cpu]);
    }
    table.to_string()
}

/// A list of objects.
pub fn json(rows: &[PeerRow]) -> Value {
    let object = |row: &PeerRow| {
        let mut object = json!({ "peer": row.peer, "workload": row.workload, "over": row.over });
        match &row.found {
            Ok(times) => {
                let [own, jemalloc] = times.ratios(|elapsed| elapsed.wall);
                let [own_cpu, jemalloc_cpu] = times.ratios(|elapsed| elapsed.cpu);
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
    rows.iter().map(object).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<PeerRow> {
        let row = |found| PeerRow { peer: "some", workload: "churn 1 1".to_owned(), over: "glibc", found };
        let took_ns = |wall| vec![Elapsed { wall, cpu: 30.0 }];
        let times = Times { peer: took_ns(60.0), own: took_ns(30.0), jemalloc: took_ns(15.0) };
        vec![row(Ok(times)), row(Err("not installed".to_owned()))]
    }

    #[test]
    fn a_peer_is_held_against_its_own_allocator_and_against_jemalloc() {
        let json = json(&rows());
        assert_eq!(
            (&json[0]["ns"], &json[0]["vs_untracked"], &json[0]["vs_jemalloc"]),
            (&60.0.into(), &2.0.into(), &4.0.into())
        );
        assert_eq!(json[1]["skipped"], "not installed");
    }

    #[test]
    fn a_skipped_peer_is_named_with_its_reason() {
        let text = text(&rows());
        assert!(
            text.contains("2.00 (glibc)") && text.contains("1.00, 1.00") && text.contains("skipped: not installed"),
            "{text}"
        );
    }
}
