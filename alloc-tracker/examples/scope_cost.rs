//! Prints what entering and leaving a scope costs, without and with times by scope, and what the recorder's threads take of
//! a core meanwhile: `cargo run --release -p alloc-tracker --example scope_cost`.
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use alloc_tracker::{Session, Times, hooks, layer};

#[global_allocator]
static ALLOC: alloc_tracker::Tracker = alloc_tracker::Tracker::new();

const PAIRS: u32 = 1_000_000;
const ROUNDS: usize = 5;

/// Nanoseconds of the fastest of several rounds of `pair`, an entry and its end.
fn fastest_ns(pair: impl Fn(u32)) -> f64 {
    let round = || {
        let began = Instant::now();
        (0..PAIRS).for_each(&pair);
        began.elapsed().as_nanos() as f64 / f64::from(PAIRS)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

/// What an entry and its end cost, by what is entered.
fn pairs(when: &str) {
    let (op, layer, phase) = (hooks::name("op"), hooks::name("layer"), hooks::name("phase"));
    let operator = fastest_ns(|call| hooks::leave(hooks::enter_op(op, Some(layer), phase, u64::from(call) + 1)));
    let literal = fastest_ns(|_| drop(layer!("conv1")));
    let path = std::hint::black_box("conv1".to_owned());
    let by_path = fastest_ns(|_| drop(layer!(path.as_str())));
    println!(
        "{when:<15} operator {operator:>7.1} ns, layer!(\"conv1\") {literal:>7.1} ns, layer!(path) {by_path:>7.1} ns"
    );
}

/// Nanoseconds of processor time of each of the recorder's threads, by name (proc(5), schedstat).
fn recorder_ns() -> std::io::Result<BTreeMap<String, u64>> {
    let mut found = BTreeMap::new();
    for thread in std::fs::read_dir("/proc/self/task")? {
        let folder = thread?.path();
        let name = std::fs::read_to_string(folder.join("comm"))?.trim().to_owned();
        let statistics = std::fs::read_to_string(folder.join("schedstat"))?;
        if name.starts_with("alloc-") {
            found.insert(name, statistics.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap_or(0));
        }
    }
    Ok(found)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("an entry and its end, fastest of {ROUNDS} rounds of {PAIRS}");
    pairs("no session");
    for times in [Times::Off, Times::ByScope, Times::WithThreadCpu] {
        let path = std::env::temp_dir().join(format!("scope-cost-{}.timeline.json", std::process::id()));
        let session = Session::builder().output(&path).times(times).start()?;
        pairs(&format!("{times:?}"));
        let (before, began) = (recorder_ns()?, Instant::now());
        std::thread::sleep(Duration::from_secs(10));
        let slept = began.elapsed().as_nanos() as f64;
        for (name, ns) in recorder_ns()? {
            let used = ns - before.get(&name).copied().unwrap_or(0);
            println!("  {name:<14} {:>6.2} % of a core, while the program sleeps", used as f64 / slept * 100.0);
        }
        session.finish()?;
        std::fs::remove_file(path)?;
    }
    Ok(())
}
