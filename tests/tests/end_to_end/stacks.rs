//! Sampled stacks (`victims/stacks.rs`, with `ALLOC_TRACKER_STACKS`): estimates against the exact counts of the same
//! scopes, the same samples for the same seed, and the names of calls, inlined, in C++, and in a library that is gone.
use std::process::Command;

use alloc_timeline::{Call, Site, Stacks, Timeline};
use serde_json::Value;
use tests::{Ran, folder, run, stored, text, viewer};

const VICTIM: &str = env!("CARGO_BIN_EXE_victim-stacks");
const KIB: u64 = 1 << 10;

/// Scopes, and the sizes of the blocks that they allocate (or by which a block grows), with how often.
const SCOPES: [(&str, &[(u64, u64)]); 7] = [
    ("small", &[(112, 40_000)]),
    ("tiny", &[(8, 60_000), (24, 60_000)]),
    ("passing", &[(KIB, 20_000)]),
    ("deep", &[(64 * KIB, 64)]),
    // A list of 64 vectors as well.
    ("peak", &[(256 * KIB, 64), (1536, 1)]),
    // Doubled from 16 bytes up to 8 MiB.
    ("list", &LIST),
    ("grown", &[(96, 3_000), (928, 3_000)]),
];
const LIST: [(u64, u64); 20] = {
    let mut list = [(16, 1); 20];
    let mut place = 1;
    while place < 20 {
        list[place] = (8 << place, 1);
        place += 1;
    }
    list
};

/// Runs the victim with `asked` in `ALLOC_TRACKER_STACKS`; its output, and its timeline if it wrote one.
fn ran(victim: &str, asked: &str, more: &[&str]) -> (Ran, Option<Timeline>) {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let mut command = Command::new(victim);
    command.arg(&out).args(more).env_remove("ALLOC_TRACKER").env("ALLOC_TRACKER_STACKS", asked);
    (run(&mut command), alloc_timeline::load(&out).ok())
}

fn recorded(asked: &str, more: &[&str]) -> (Timeline, Stacks) {
    let (ran, timeline) = ran(VICTIM, asked, more);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let timeline = timeline.expect("a timeline");
    let stacks = timeline.stacks.clone().expect("stacks");
    assert!(stacks.complete && timeline.tracker.losses.is_empty(), "{:?}", timeline.tracker.losses);
    (timeline, stacks)
}

/// The sites of one phase.
fn sites<'a>(timeline: &'a Timeline, stacks: &'a Stacks, phase: &str) -> Vec<&'a Site> {
    stacks.sites.iter().filter(|site| timeline.scopes[site.scope as usize].phase == phase).collect()
}

/// The calls of a site, the innermost first.
fn calls<'a>(stacks: &'a Stacks, site: &Site) -> Vec<&'a Call> {
    site.calls.iter().rev().map(|&call| &stacks.calls[call as usize]).collect()
}

/// Variance of the estimate for blocks of these sizes: the sum of s² (1 - p) / p, where p = 1 - exp(-s / mean).
fn variance(blocks: &[(u64, u64)], mean: f64) -> f64 {
    let of = |&(bytes, count): &(u64, u64)| {
        let p = -(-(bytes as f64) / mean).exp_m1();
        count as f64 * (bytes as f64).powi(2) * (1.0 - p) / p
    };
    blocks.iter().map(of).sum()
}

/// Every block is looked at.
#[test]
fn estimates_of_frequent_samples_are_unbiased() {
    check_estimates(16);
}

/// Only the sampled blocks leave the hot path, and those of less than 64 bytes move to one of 64.
#[test]
fn estimates_of_rare_samples_are_unbiased() {
    check_estimates(64);
}

/// For each of ten seeds, and for all of them together, the estimates are within 4 standard errors of what the ledger
/// counted. The seeds are fixed and the program has one thread, so the result is the same in every run.
fn check_estimates(mean_kib: u64) {
    const SEEDS: u64 = 10;
    let mean = (mean_kib * KIB) as f64;
    let mut off = [0.0; SCOPES.len()];
    for seed in 1..=SEEDS {
        let (timeline, stacks) = recorded(&format!("{mean_kib}KiB,{seed}"), &["-"]);
        assert_eq!((stacks.mean_bytes, stacks.seed), (mean_kib * KIB, seed));
        for ((phase, blocks), off) in SCOPES.iter().zip(&mut off) {
            let sites = sites(&timeline, &stacks, phase);
            let estimate: u64 = sites.iter().map(|site| site.sums.allocated_bytes).sum();
            let scope = timeline.scopes.iter().position(|scope| scope.phase == *phase).expect("the scope") as u32;
            let exact = timeline.totals.by_scope.iter().find(|counts| counts.scope == scope).expect("its counts");
            let whole: u64 = blocks.iter().map(|(bytes, count)| bytes * count).sum();
            let moved = if *phase == "tiny" && mean_kib >= 64 { 64 * stacks.samples.taken } else { 0 };
            let counted = exact.allocated_bytes;
            assert!((whole..=whole + moved).contains(&counted), "{phase}: {counted} counted, {whole} by the program");
            let deviation = (estimate as f64 - whole as f64) / variance(blocks, mean).sqrt().max(1.0);
            // Each sample is rounded to a whole byte.
            assert!(deviation.abs() <= 4.0 || estimate.abs_diff(whole) <= 100, "{phase} {seed}: {deviation}");
            *off += estimate as f64 - whole as f64;
            if blocks[0].1 >= 1000 {
                let error = sites.iter().map(|site| (site.sums.error_bytes as f64).powi(2)).sum::<f64>().sqrt();
                let own = variance(blocks, mean).sqrt();
                assert!((error - own).abs() <= 0.2 * own, "{phase} {seed}: says {error}, is {own}");
            }
        }
        let live = |phase: &str| sites(&timeline, &stacks, phase).iter().map(|site| site.sums.exit_bytes).sum::<u64>();
        assert_eq!((live("passing"), live("peak")), (0, 0), "what was freed is not live");
        let held = |phase: &str| {
            let rows = tests::rows(&timeline, &timeline.at_exit.as_ref().expect("an end").snapshot);
            rows.filter(|(scope, _)| scope.phase == phase).map(|(_, row)| row.usable_bytes).sum::<u64>() as f64
        };
        for (phase, blocks) in [0, 1, 3, 6].map(|number| SCOPES[number]) {
            let deviation = (live(phase) as f64 - held(phase)) / variance(blocks, mean).sqrt();
            assert!(deviation.abs() <= 4.0, "{phase} {seed} at exit: {deviation}");
        }
        let high: u64 = sites(&timeline, &stacks, "peak").iter().map(|site| site.sums.peak_bytes).sum();
        let sigma = |blocks: &[(u64, u64)]| variance(blocks, mean).sqrt() as u64;
        assert!(high.abs_diff(64 * 256 * KIB) < 100_000 + 4 * sigma(&[(256 * KIB, 64)]), "{high} at the peak");
        // Of the list's 8 MiB 1 is left, and so of its samples an eighth.
        assert!(live("list").abs_diff(KIB * KIB) < 40_000 + sigma(&LIST) / 2, "{} of the list", live("list"));
    }
    for ((phase, blocks), off) in SCOPES.iter().zip(off) {
        let deviation = off / (variance(blocks, mean) * SEEDS as f64).sqrt().max(1.0);
        assert!(deviation.abs() <= 4.0 || off.abs() <= 1000.0, "{phase}: {deviation}");
    }
}

#[test]
fn a_seed_gives_the_same_samples() {
    let (first, second) = (recorded("8KiB,5", &["-"]).1, recorded("8KiB,5", &["-"]).1);
    assert!(first.samples.taken > 1_000);
    assert_eq!(first, second);
    assert_ne!(first.sums(), recorded("8KiB,6", &["-"]).1.sums());
}

#[test]
fn calls_have_their_names() {
    let (timeline, stacks) = recorded("16KiB", &["-"]);
    let only = |phase: &str| -> Vec<&Call> {
        let sites = sites(&timeline, &stacks, phase);
        let most = sites.iter().max_by_key(|site| site.sums.allocated_bytes).expect("a site");
        calls(&stacks, most)
    };
    let place =
        |calls: &[&Call], name: &str| calls.iter().position(|call| call.function.ends_with(name)).expect("the call");
    // Inlined into its caller, which is called by main, with the lines of the victim's source.
    let passing = only("passing");
    let maker = place(&passing, "inlined_maker");
    assert!(
        passing[maker].inlined && passing[maker].file.as_ref().is_some_and(|file| file.ends_with("victims/stacks.rs"))
    );
    assert!(passing[maker].line.is_some(), "{:?}", passing[maker]);
    assert_eq!(place(&passing, "victim_stacks::made_and_freed"), maker + 1);
    assert!(!passing[maker + 1].inlined);
    assert_eq!(place(&passing, "victim_stacks::main"), maker + 2);
    let doors = |call: &&&Call| call.function.contains("alloc_tracker") || call.function.contains("__rust_alloc");
    assert_eq!(passing.iter().find(doors), None, "nothing of the tracker's own");

    // The innermost 192 of a thousand calls are kept.
    let deep = sites(&timeline, &stacks, "deep");
    assert!(deep.iter().all(|site| site.cut));
    assert_eq!(stacks.samples.cut, deep.iter().map(|site| site.sums.samples).sum::<u64>());
    assert!(calls(&stacks, deep[0]).iter().filter(|call| call.function == "victim_stacks::deep").count() > 150);
    assert_eq!((stacks.samples.without_calls, stacks.samples.lost, stacks.samples.not_followed), (0, 0, 0));
}

/// A library in C++, with a template and a function that is inlined into it.
const SHOP: &str = r#"
#include <vector>

namespace shop {
template <class Item> struct Shelf {
    inline __attribute__((always_inline)) Item *room(long count) { return new Item[count]; }
    __attribute__((noinline)) void fill(int blocks) {
        for (int i = 0; i < blocks; i++) { Item *item = room(1 << 18); asm volatile("" ::"r"(item) : "memory"); delete[] item; }
    }
};
}

extern "C" void work() { shop::Shelf<char> shelf; shelf.fill(16); asm volatile(""); }
"#;

#[test]
fn cpp_of_a_library_that_is_gone_is_named() {
    let folder = folder();
    let (source, library) = (folder.path().join("shop.cpp"), folder.path().join("libshop.so"));
    std::fs::write(&source, SHOP).expect("the source");
    let mut compiler = Command::new("c++");
    compiler.args(["-shared", "-fPIC", "-O1", "-g", "-o", text(&library), text(&source)]);
    let status = compiler.status().expect("a C++ compiler: install g++ or clang");
    assert!(status.success(), "{status}");
    let (timeline, stacks) = recorded("64KiB", &[text(&library)]);
    let named = sites(&timeline, &stacks, "library")
        .into_iter()
        .find(|site| calls(&stacks, site).iter().any(|call| call.function == "shop::Shelf<char>::fill(int)"));
    let calls = calls(&stacks, named.expect("a site in the library"));
    let names: Vec<&str> = calls.iter().map(|call| call.function.as_str()).collect();
    let fill = names.iter().position(|name| *name == "shop::Shelf<char>::fill(int)").expect("the call");
    assert_eq!(names[fill - 1], "shop::Shelf<char>::room(long)");
    assert!(calls[fill - 1].inlined && !calls[fill].inlined);
    assert!(names[0].starts_with("operator new"), "{names:?}");
    assert_eq!(names[fill + 1], "work");
    assert!(names.contains(&"victim_stacks::library"), "{names:?}");
    assert!(calls[fill].file.as_ref().is_some_and(|file| file.ends_with("shop.cpp")));
}

#[test]
fn what_grows_is_named_by_its_stack() {
    let (ran, timeline) = ran(env!("CARGO_BIN_EXE_victim-growth"), "64KiB", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let folder = folder();
    let path = stored(&timeline.expect("a timeline"), &folder, "growth.timeline.json");
    let json: Value = serde_json::from_str(&viewer(&["growth", text(&path), "--json"]).stdout).expect("JSON");
    let leak =
        json["stacks"].as_array().expect("stacks").iter().find(|site| site["phase"] == "data").expect("the leak");
    // A block of 4 MiB is 64 times the mean, so each is sampled and stands for its own bytes alone.
    assert_eq!(leak["trend"]["bytes_per_step"], 4 << 20);
    assert_eq!(leak["trend"]["since_step"], 12);
    let words = viewer(&["growth", text(&path)]).stdout;
    // The sentence is wrapped to the terminal's width.
    let sentence = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let (_, site) = sentence.split_once("data: +4.0 MiB a step since step 12, in ").expect("a sentence");
    assert!(site.starts_with("block (growth.rs:") && site.contains(" < victim_growth::main"), "{words}");
}

#[test]
fn leaks_and_folded_stacks() {
    let (timeline, stacks) = recorded("16KiB", &["-"]);
    let folder = folder();
    let path = stored(&timeline, &folder, "stacks.timeline.json");
    let json = viewer(&["stacks", text(&path), "--of", "leaks", "--json"]).stdout;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    let phases: Vec<&str> =
        json["sites"].as_array().expect("sites").iter().filter_map(|site| site["phase"].as_str()).collect();
    // Two places in `tiny` and in `grown`, where blocks are made and where they grow; in no phase, three lists of blocks.
    assert_eq!(phases.len(), 10, "{phases:?}");
    assert!(
        ["small", "tiny", "deep", "list", "grown", "(none)"].iter().all(|phase| phases.contains(phase)),
        "{phases:?}"
    );
    let folded = viewer(&["stacks", text(&path), "--folded"]).stdout;
    let sum: u64 = folded.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum();
    assert_eq!(sum, stacks.sums().peak_bytes);
    let peak = folded.lines().find(|line| line.contains(";[peak] ")).expect("a line");
    assert!(peak.contains(";victim_stacks::main;victim_stacks::at_the_peak;"), "{peak}");
    let drawn = viewer(&[text(&path), "--out", text(folder.path())]);
    assert_eq!(drawn.code, Some(0), "{}", drawn.stderr);
    let svg = std::fs::read_to_string(folder.path().join("stacks.stacks.svg")).expect("the picture");
    assert!(svg.contains("victim_stacks::at_the_peak"));
}

#[test]
fn a_killed_process_has_none_and_says_so() {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let mut command = Command::new(VICTIM);
    command.arg(&out).args(["-", "abort"]).env_remove("ALLOC_TRACKER").env("ALLOC_TRACKER_STACKS", "16KiB,3");
    assert_eq!(run(&mut command).code, None);
    let log = folder.path().join("run.timeline.json.log");
    let recovered = viewer(&["recover", text(&log)]);
    assert_eq!(recovered.code, Some(0), "{}", recovered.stderr);
    let copy = alloc_timeline::load(folder.path().join("run.dump-1.timeline.json")).expect("the copy");
    let stacks = copy.stacks.as_ref().expect("its stacks");
    assert!(stacks.complete && !sites(&copy, stacks, "small").is_empty(), "the copy that was written before has them");
    let timeline = alloc_timeline::load(&out).expect("a timeline");
    let promised = Stacks { mean_bytes: 16 * KIB, seed: 3, ..Stacks::default() };
    assert_eq!(timeline.stacks, Some(promised));
    for command in ["stacks", "summary"] {
        let said = viewer(&[command, text(&out)]).stdout;
        // Long sentences are wrapped.
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains("which this one did not reach"), "{said}");
    }
}

#[test]
fn what_is_no_size_is_said() {
    let (ran, timeline) = ran(VICTIM, "often", &["-"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let timeline = timeline.expect("a timeline");
    assert_eq!(timeline.stacks, None);
    assert!(timeline.tracker.losses.iter().any(|loss| loss.contains("ALLOC_TRACKER_STACKS: 'often'")));
}
