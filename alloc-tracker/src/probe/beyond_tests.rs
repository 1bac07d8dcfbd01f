//! The account beyond the resident set, from readings that are made up.
use std::path::PathBuf;

use super::*;
use crate::probe::cgroup::Place;

/// What is read of the group whose files are among the fixtures.
fn of_fixture(name: &str, version: Version) -> GroupReadings {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures/cgroup").join(name);
    let group = Group::at(&Place { version, mount: folder.clone(), folder }).expect("the group's files");
    GroupReadings::take(&group, NEIGHBOURS)
}

#[test]
fn the_files_of_both_versions_give_the_same_lines() {
    let first = of_fixture("v1-limited", Version::One);
    assert_eq!((first.usage, first.file), (Some(66_584_576), Some((43_143_168, 4_194_304))));
    assert_eq!(first.kernel, Some((1_048_576, "memory.kmem.usage_in_bytes".to_owned())));
    assert_eq!(first.swap.as_ref().map(|swap| swap.0), Some(0));
    assert_eq!(first.limit.as_ref().map(|limit| (limit.bytes, limit.ancestor)), Some((64 << 20, None)));
    let second = of_fixture("v2", Version::Two);
    assert_eq!((second.usage, second.kernel.as_ref().map(|kernel| kernel.0)), (Some(483_926_016), Some(7_344_128)));
    assert_eq!(second.swap.as_ref().map(|swap| swap.0), Some(12_288));
    let names = |group: GroupReadings| {
        let lines = lines(1_000, &BeyondReadings { group: Ok(group), ..readings() });
        // The list of processes is no fixture: that line says so, and the total is known all the same.
        assert_eq!(lines.iter().filter(|line| line.bytes.is_none()).count(), 3, "{lines:#?}");
        lines.into_iter().map(|line| line.name).filter(|name| !name.starts_with("memory.")).collect::<Vec<_>>()
    };
    assert_eq!(names(first), names(second));
}

/// A group of two processes with a limit of its own.
fn group() -> GroupReadings {
    GroupReadings {
        version: Version::Two,
        folder: "/g".to_owned(),
        usage: Some(2_000),
        neighbours: Some(Neighbours { pss: 600, pss_files: 50, read: 1, unread: 2, late: 3 }),
        file: Some((500, 120)),
        kernel: Some((80, "memory.stat: slab 80".to_owned())),
        swap: Some((7, "memory.swap.current".to_owned())),
        limit: Some(Limit { bytes: 5_000, source: "/g/memory.max".to_owned(), ancestor: None }),
    }
}

/// The process maps 1,010 bytes: 700 alone, and 310 with others, of which 110 are its share.
fn readings() -> BeyondReadings {
    let rollup = Rollup { pss: 810, pss_files: Some(100), private: 700, shared: 310 };
    BeyondReadings { rss: Some(1_004), rollup: Ok(rollup), group: Ok(group()), own_ns: 0 }
}

fn table(lines: &[BeyondLine]) -> Vec<(&str, Option<i64>, bool)> {
    lines.iter().map(|line| (line.name.as_str(), line.bytes, line.total)).collect()
}

/// What the file's reader checks: a total is the one before and the steps between them.
fn sums_hold(lines: &[BeyondLine]) -> bool {
    let mut account: Vec<&BeyondLine> = Vec::new();
    lines.iter().all(|line| {
        account.push(line);
        if !line.total {
            return true;
        }
        let steps = std::mem::replace(&mut account, vec![line]);
        let known: Option<Vec<i64>> = steps.iter().map(|line| line.bytes).collect();
        // One line alone, or two totals beside each other, are the beginning of an account.
        steps.len() <= 2
            || known.is_none_or(|known| known[..known.len() - 1].iter().sum::<i64>() == known[known.len() - 1])
    })
}

#[test]
fn each_step_is_a_measurement_and_the_rest_is_unexplained() {
    let lines = lines(1_000, &readings());
    assert_eq!(
        table(&lines),
        [
            ("RSS", Some(1_000), true),
            ("change between the readings", Some(4), false),
            ("shared with other processes", Some(-200), false),
            // statm said 1,004 and smaps_rollup 1,010.
            ("unexplained", Some(6), false),
            ("PSS", Some(810), true),
            ("other processes of the group", Some(600), false),
            // The group is charged for 120 bytes of mapped files; its processes map 150.
            ("mapped pages of files charged to other groups", Some(-30), false),
            ("page cache of the group that nobody maps", Some(380), false),
            ("kernel memory", Some(80), false),
            ("unexplained", Some(160), false),
            ("memory.current", Some(2_000), true),
            ("room until the limit", Some(3_000), false),
            ("memory.max", Some(5_000), true),
            ("swap of the group", Some(7), true),
        ]
    );
    assert!(sums_hold(&lines));
    let others = lines.iter().find(|line| line.name == "other processes of the group").expect("the line");
    assert_eq!(others.source, "PSS of 1 processes in /g; 2 more cannot be read; there was no time for 3 more");
}

#[test]
fn a_limit_of_an_ancestor_has_others_under_it() {
    let limit = |ancestor| Some(Limit { bytes: 5_000, source: "/memory.max".to_owned(), ancestor: Some(ancestor) });
    let mut readings = readings();
    readings.group = Ok(GroupReadings { limit: limit(Some(4_500)), ..group() });
    let found = lines(1_000, &readings);
    let expected = [
        ("other groups under the same limit", Some(2_500), false),
        ("room until the limit", Some(500), false),
        ("memory.max", Some(5_000), true),
    ];
    assert_eq!(table(&found)[11..14], expected);
    assert!(sums_hold(&found));
    readings.group = Ok(GroupReadings { limit: limit(None), ..group() });
    let found = lines(1_000, &readings);
    assert_eq!(table(&found)[11..13].iter().map(|line| line.1).collect::<Vec<_>>(), [None, None]);
    assert_eq!(found[13].bytes, Some(5_000), "the limit itself is known");
}

/// A number that is missing takes away the rest that needs it, and nothing else.
#[test]
fn what_cannot_be_read_says_why() {
    let mut readings = readings();
    readings.group = Ok(GroupReadings { kernel: None, limit: None, swap: None, ..group() });
    let found = lines(1_000, &readings);
    let by_name = |name: &str| found.iter().rfind(|line| line.name == name).expect("the line");
    assert_eq!((by_name("kernel memory").bytes, by_name("unexplained").bytes), (None, None));
    assert_eq!(by_name("kernel memory").source, "unavailable: there is no count of it");
    assert_eq!(by_name("memory.current").bytes, Some(2_000));
    assert_eq!(by_name("memory.max").bytes, None);
    assert!(by_name("memory.max").source.contains("no limit that is visible"), "{}", by_name("memory.max").source);
    assert!(found.iter().all(|line| line.bytes.is_some() != line.source.starts_with("unavailable: ")));

    let gone = BeyondReadings { rss: None, rollup: Err("no smaps".into()), group: Err("no group".into()), own_ns: 0 };
    let found = lines(1_000, &gone);
    let known: Vec<&str> = found.iter().filter(|line| line.bytes.is_some()).map(|line| line.name.as_str()).collect();
    assert_eq!(known, ["RSS"]);
    assert_eq!(found.last().map(|line| line.source.as_str()), Some("unavailable: no group"));
    assert!(sums_hold(&found));
}

/// On whatever machine this is: the sums hold, and the shares are those of this process.
#[test]
fn of_this_process() {
    let rss = Statm::open().read().expect("/proc/self/statm").rss;
    let lines = lines(rss, &BeyondReadings::take(NEIGHBOURS));
    for line in &lines {
        println!(
            "{:>14} {} {} ({})",
            line.bytes.map_or("-".to_owned(), |bytes| bytes.to_string()),
            ["  ", "= "][usize::from(line.total)],
            line.name,
            line.source
        );
    }
    assert!(sums_hold(&lines));
    assert!(lines.iter().all(|line| line.bytes.is_some() || line.source.starts_with("unavailable: ")));
}
