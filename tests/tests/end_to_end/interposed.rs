//! Which allocations are tracked: with the C door libtorch's as well, without it Rust's alone.
use alloc_timeline::{Category, Door, Timeline};
use tests::{Config, requested, rows, tables, victim};

fn trained() -> &'static Timeline {
    Config::train("resnet18", 2, 64, 3).run()
}

#[test]
fn libtorchs_malloc_is_the_trackers() {
    let timeline = trained();
    for library in ["libtorch_cpu.so", "libc10.so"] {
        for symbol in ["malloc", "posix_memalign", "free"] {
            let found = timeline
                .interposition
                .iter()
                .find(|resolution| resolution.object.ends_with(library) && resolution.symbol == symbol)
                .unwrap_or_else(|| panic!("{library} calls {symbol}, but the timeline does not tell whose"));
            assert!(found.tracked, "{found:?}");
            assert!(found.resolved_in.ends_with("/trainer"), "{found:?}");
        }
    }
    assert_eq!(timeline.allocator.doors, [Door::Rust, Door::C]);
}

/// libtorch registers its operators before `main`: 632,732 blocks of 55 MB in the version that was measured first. The
/// test asks for 10 MB only, because other versions differ.
#[test]
fn start_up_is_runtime() {
    let timeline = trained();
    let first = tables(timeline, "end of forward")[0];
    let bytes = requested(first, Category::Runtime);
    assert!(bytes > 10_000_000, "{bytes}");
    let phases: Vec<&str> = rows(timeline, first)
        .filter(|(_, row)| row.category == Category::Runtime)
        .map(|(scope, _)| scope.phase.as_str())
        .collect();
    assert_eq!(phases, ["runtime"]);
}

/// What the program allocates itself is not runtime: training three steps does not change it by one byte.
#[test]
fn nothing_joins_runtime_after_main() {
    let timeline = trained();
    let marks = ["end of forward", "end of backward", "end of step"];
    let sizes: Vec<u64> =
        marks.iter().flat_map(|mark| tables(timeline, mark)).map(|table| requested(table, Category::Runtime)).collect();
    assert_eq!(sizes, vec![sizes[0]; 9]);
}

/// A Vec of 500,000 bytes and a malloc of 1,000,000 in one scope: without `use alloc_interpose as _` only the Vec is
/// seen, and the timeline says that there is one door.
#[test]
fn without_the_c_door_only_rust_is_seen() {
    let (ran, timeline) = victim(env!("CARGO_BIN_EXE_victim-rust-only"), &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(timeline.allocator.doors, [Door::Rust]);
    assert!(timeline.interposition.iter().all(|resolution| !resolution.tracked), "{:?}", timeline.interposition);
    let table = tables(&timeline, "both made")[0];
    let seen: Vec<(u64, u64)> = rows(&timeline, table)
        .filter(|(scope, _)| scope.phase == "data")
        .map(|(_, row)| (row.requested_bytes, row.blocks))
        .collect();
    assert_eq!(seen, [(500_000, 1)]);
    assert_eq!(requested(table, Category::Runtime), 0, "the runtime before `main` is the C library's");
}
