//! Blocks of known sizes, planted under known scopes (`victims/planted.rs`): each is found where it was planted, with
//! the bytes that were asked for and those that jemalloc sets aside.
use std::sync::LazyLock;

use alloc_timeline::{Category, Row, Snapshot, Timeline};
use tests::{rows, summary, tables, victim};

static PLANTED: LazyLock<Timeline> = LazyLock::new(|| {
    let (ran, timeline) = victim(env!("CARGO_BIN_EXE_victim-planted"), &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    timeline
});

/// The rows of one phase and layer: requested, usable, blocks.
fn held(table: &Snapshot, phase: &str, layer: &str) -> Vec<(u64, u64, u64)> {
    let is = |(scope, row): &(&alloc_timeline::Scope, &Row)| {
        scope.phase == phase && scope.layer == layer && row.category == Category::Other
    };
    rows(&PLANTED, table).filter(is).map(|(_, row)| (row.requested_bytes, row.usable_bytes, row.blocks)).collect()
}

fn planted() -> &'static Snapshot {
    tables(&PLANTED, "all planted")[0]
}

/// Above 16 KiB blocks come in whole pages: 1,000,000 takes 245 pages of 4,096.
#[test]
fn a_vec_inside_a_layer() {
    assert_eq!(held(planted(), "forward", "layer2.1"), [(1_000_000, 245 * 4096, 1)]);
}

/// 300,000 takes 74 pages.
#[test]
fn a_malloc_from_a_c_thread_in_a_captured_scope() {
    assert_eq!(held(planted(), "data", ""), [(300_000, 74 * 4096, 1)]);
}

/// The block keeps its first owner, at its new size of 13 pages. The scope that resized it owns nothing.
#[test]
fn a_realloc_keeps_its_first_owner() {
    assert_eq!(held(planted(), "init", ""), [(50_000, 13 * 4096, 1)]);
    assert_eq!(held(planted(), "loss", ""), []);
}

#[test]
fn a_page_from_posix_memalign() {
    assert_eq!(held(planted(), "optimizer", ""), [(4096, 4096, 1)]);
}

/// 100 bytes fall into jemalloc's class of 112 (every 16 bytes up to 128).
#[test]
fn a_hundred_small_blocks() {
    assert_eq!(held(planted(), "infer", ""), [(100 * 100, 100 * 112, 100)]);
}

/// 12,345 falls into the class of 14,336 (12,288 is too small). It is the only planted block left at exit.
#[test]
fn the_leak_is_listed_at_exit() {
    let at_exit = &PLANTED.at_exit.as_ref().expect("an end").snapshot;
    assert_eq!(held(at_exit, "backward", "leaky"), [(12_345, 14_336, 1)]);
    for (phase, layer) in [("forward", "layer2.1"), ("data", ""), ("init", ""), ("optimizer", ""), ("infer", "")] {
        assert_eq!(held(at_exit, phase, layer), [], "{phase} {layer}");
    }
    let summary = summary(&PLANTED);
    let owners = summary["alive_at_exit"]["owners"].as_array().expect("a list");
    let leak = owners.iter().find(|owner| owner["layer"] == "leaky").unwrap_or_else(|| panic!("{owners:?}"));
    assert_eq!(leak["phase"], "backward", "{leak}");
}
