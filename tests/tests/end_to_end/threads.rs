//! Sampled bytes by thread (`victims/threads.rs`, with `ALLOC_TRACKER_STACKS`): threads that have ended, that run, and that ended
//! without a word.
use std::process::Command;

use alloc_timeline::{SampledThread, Stacks};
use serde_json::Value;
use tests::{folder, run, text, viewer};

use crate::record::{programs, recorded};

const VICTIM: &str = env!("CARGO_BIN_EXE_victim-threads");
const MIB: u64 = 1 << 20;
/// The mean distance of two samples.
const MEAN: f64 = 65536.0;
/// More than a thread of the victim holds or allocates besides its blocks: the list of them, and what a thread and a channel are
/// made of.
const REST: f64 = 16384.0;

/// By how many bytes the estimate for a thread with so many blocks may be off: four standard errors. A block of s bytes adds
/// s² (1 - p) / p to the variance, with p = 1 - exp(-s / mean), which for small blocks is s times the mean. Each sample is
/// rounded to a whole byte.
fn bound(blocks: u64) -> u64 {
    let block = MIB as f64;
    let p = -(-block / MEAN).exp_m1();
    let variance = blocks as f64 * block * block * (1.0 - p) / p + REST * MEAN;
    (4.0 * variance.sqrt()) as u64 + blocks
}

fn thread<'a>(stacks: &'a Stacks, name: Option<&str>) -> &'a SampledThread {
    let found = stacks.threads.iter().find(|thread| thread.name.as_deref() == name);
    found.unwrap_or_else(|| panic!("{name:?}: {:?}", stacks.threads))
}

#[test]
fn who_holds_the_peak_is_told_by_thread() {
    let folder = folder();
    let out = folder.path().join("run.timeline.json");
    let mut command = Command::new(VICTIM);
    command.arg(&out).env_remove("ALLOC_TRACKER").env("ALLOC_TRACKER_STACKS", "64KiB,1");
    let ran = run(&mut command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let timeline = alloc_timeline::load(&out).expect("a timeline");
    let stacks = timeline.stacks.as_ref().expect("stacks");
    // Blocks at the peak, and allocated in all. Main is called after the program, in the kernel's 15 letters.
    for (name, at_peak, allocated) in [
        (Some("loader"), 24, 24),
        (Some("passing"), 0, 48),
        (None, 8, 8),
        (Some("decoder"), 12, 12),
        (Some("victim-threads"), 4, 4),
    ] {
        let sums = thread(stacks, name).sums;
        assert!(sums.peak_bytes.abs_diff(at_peak * MIB) <= bound(at_peak), "{name:?} at the peak: {sums:?}");
        assert!(sums.allocated_bytes.abs_diff(allocated * MIB) <= bound(allocated), "{name:?}: {sums:?}");
    }
    let whole: u64 = stacks.threads.iter().map(|thread| thread.sums.peak_bytes).sum();
    assert_eq!(whole, stacks.sums().peak_bytes, "the same samples as by stack");
    assert_eq!(stacks.other_threads.samples, 0);

    let file = text(&out);
    let said = viewer(&["stacks", file, "--by", "thread"]).stdout;
    let abrupt = thread(stacks, None).number;
    let order = [
        format!("loader (thread {})", thread(stacks, Some("loader")).number),
        format!("decoder (thread {})", thread(stacks, Some("decoder")).number),
        format!("thread {abrupt} (ended before its name was read)"),
        format!("victim-threads (thread {})", thread(stacks, Some("victim-threads")).number),
    ];
    let places: Vec<Option<usize>> = order.iter().map(|words| said.find(words)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{said}");
    assert!(said.contains("estimates from samples"), "{said}");
    let json: Value =
        serde_json::from_str(&viewer(&["stacks", file, "--of", "allocated", "--json"]).stdout).expect("JSON");
    assert_eq!(json["threads"][0]["name"], "passing");
}

#[test]
fn what_is_recorded_has_its_peak_by_thread_where_there_are_several() {
    let folder = folder();
    let one = "Who held the peak, by the thread";
    let Some(program) = programs::compiled(folder.path(), "blocks.cpp", programs::BLOCKS) else { return };
    let ran = recorded(folder.path(), &["-o", "blocks.timeline.json"], &[text(&program)]);
    assert!(ran.stderr.contains("Who held the peak, by stack") && !ran.stderr.contains(one), "{}", ran.stderr);
    let program = programs::compiled_with(folder.path(), "workers.c", programs::WORKERS, &["-pthread"]);
    let program = program.expect("a compiler, which was there before");
    let ran = recorded(folder.path(), &["-o", "workers.timeline.json"], &[text(&program)]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let (_, by_thread) = ran.stderr.split_once(one).expect("a table by thread");
    // A block of 1 MiB is twice the mean of 512 KiB: 14 of 100 are not sampled, and a sample stands for 1.157 MiB. So 32 blocks
    // are 32 MiB with a standard error of 2.2, and 16 are 16 with 1.6: nearly six standard errors apart.
    let place = |name: &str| by_thread.find(name).unwrap_or_else(|| panic!("{name}: {}", ran.stderr));
    assert!(place("holds-much (thread ") < place("holds-less (thread "), "{}", ran.stderr);
}
