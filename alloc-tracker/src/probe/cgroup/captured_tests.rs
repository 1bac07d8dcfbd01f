//! Groups of version 2 as three kernels show them. Each was limited to 64 MiB and held a process with 45 MB of its own that
//! read a file of 109 MB and mapped a part of it, so that the kernel had to take pages back (`fixtures/README.md`).
use std::path::PathBuf;

use super::place::{self, Place};
use super::stat::Stat;
use super::{Group, Version};

/// The group whose files are in the folder `name` of the fixtures.
fn captured(name: &str) -> Group {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/cgroup").join(name);
    Group::at(&Place { version: Version::Two, mount: folder.clone(), folder }).expect("the group's files")
}

/// What is read on ticks: use, limit, times at the limit, nanoseconds of waiting (the file has microseconds), swap.
#[test]
fn the_numbers_of_each_kernel() {
    for (name, usage, hits, stalled_us, swap) in [
        ("v2-5.10", 64_049_152, 621, 349_422, 2_232_320),
        ("v2-6.1", 66_945_024, 636, 484_396, 4_112_384),
        ("v2-6.12", 66_555_904, 394, 183_973, 786_432),
    ] {
        let group = captured(name);
        let own = group.own();
        assert_eq!((own.usage(), own.limit()), (Some(usage), Some(64 << 20)), "{name}");
        assert_eq!((own.hits(), own.stalled_ns()), (Some(hits), Some(stalled_us * 1_000)), "{name}");
        assert_eq!(own.number("memory.swap.current"), Some(swap), "{name}");
        let tightest = group.tightest().expect("a limit");
        assert_eq!((tightest.bytes, tightest.is_ancestors, tightest.usage), (64 << 20, false, Some(usage)), "{name}");
    }
}

/// memory.peak is there since Linux 5.19. Without it the figure of the run is the largest reading.
#[test]
fn the_peak_is_there_or_is_not() {
    let peaks = ["v2-5.10", "v2-6.1", "v2-6.12"].map(|name| captured(name).own().number("memory.peak"));
    assert_eq!(peaks, [None, Some(64 << 20), Some(64 << 20)]);
    let mut cgroup = super::Cgroup { group: Ok(captured("v2-5.10")), most: None };
    assert_eq!(cgroup.figure().peak_bytes, None, "nothing was read yet");
    cgroup.read();
    let figure = cgroup.figure();
    assert_eq!(figure.peak_bytes, Some(64_049_152));
    assert!(figure.source.starts_with("the most of ") && figure.source.ends_with("memory.current on any tick"));
}

/// Linux 5.10 knows neither the sum of the kernel's memory nor its page tables: what it tells is summed.
#[test]
fn what_the_memory_consists_of() {
    let stat = |name: &str| captured(name).own().stat().expect("a stat");
    let parts = |stat: &Stat| {
        let kernel = stat.kernel.clone().expect("version 2 has it");
        (stat.file, stat.mapped, stat.reclaimable, kernel.bytes, kernel.parts)
    };
    let of_5 = (16_490_496, 5_677_056, 5_709_824 + 4_546_560 + 262_984, 262_984, vec![("slab", 262_984)]);
    assert_eq!(parts(&stat("v2-5.10")), of_5);
    let of_6 = vec![("pagetables", 151_552), ("slab", 533_512)];
    assert_eq!(
        parts(&stat("v2-6.1")),
        (20_086_784, 7_397_376, 9_129_984 + 6_651_904 + 513_328, 724_992, of_6),
        "what 6.1 counts beyond its parts, 39,928 bytes, is in the sum alone"
    );
    let newer = vec![("pagetables", 167_936), ("percpu", 64), ("slab", 517_904)];
    assert_eq!(parts(&stat("v2-6.12")), (19_484_672, 7_614_464, 11_083_776 + 798_720 + 489_600, 708_608, newer));
}

/// All memory of the group is of its own, of files, or the kernel's: to 64 pages that a core is charged for in advance.
/// Linux 5.10 leaves out page tables, and adds what each core counted only when it is asked for more than a few pages.
#[test]
fn the_parts_sum_to_the_use() {
    for (name, anonymous, most) in
        [("v2-5.10", 46_678_016, 1 << 20), ("v2-6.1", 46_202_880, 1 << 19), ("v2-6.12", 46_202_880, 1 << 19)]
    {
        let (group, text) = (captured(name), "memory.stat");
        let own = group.own();
        let stat = own.stat().expect(text);
        let sum = anonymous + stat.file + stat.kernel.expect("the kernel's").bytes;
        let usage = own.usage().expect("the use");
        assert!(usage.abs_diff(sum) <= most, "{name}: {usage} used, {sum} in {text}");
    }
}

#[test]
fn the_place_of_a_group_below_the_root() {
    let texts = [
        (
            include_str!("../../../../fixtures/cgroup/v2-5.10/proc_self_cgroup"),
            include_str!("../../../../fixtures/cgroup/v2-5.10/proc_self_mountinfo"),
        ),
        (
            include_str!("../../../../fixtures/cgroup/v2-6.1/proc_self_cgroup"),
            include_str!("../../../../fixtures/cgroup/v2-6.1/proc_self_mountinfo"),
        ),
        (
            include_str!("../../../../fixtures/cgroup/v2-6.12/proc_self_cgroup"),
            include_str!("../../../../fixtures/cgroup/v2-6.12/proc_self_mountinfo"),
        ),
    ];
    for (groups, mounts) in texts {
        let found = place::find(groups, mounts).expect("a place");
        assert_eq!(found.folder, PathBuf::from("/sys/fs/cgroup/jobs/train-7"));
        assert_eq!((found.version, found.lineage().count()), (Version::Two, 3));
    }
}
