//! The memory that is free for a run: the machine's, or what the control groups of this process leave.
use std::fs;

use alloc_tracker::control_group::{Version, find_version};
use procfs::{Current, Meminfo};

/// A limit of version 1 above this is none: its files then hold the largest number of pages.
const NO_LIMIT: u64 = 1 << 60;

/// The bytes that a process may still take before the kernel must kill or swap; `None` where nothing tells.
pub(super) fn free_bytes() -> Option<u64> {
    let machine = Meminfo::current().ok().and_then(|memory| Some(memory.mem_available? + memory.swap_free));
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let (groups, mounts) = (read("/proc/self/cgroup"), read("/proc/self/mountinfo"));
    let of = |version: Version, limit: &str, anonymous: &str| {
        let place = find_version(version, &groups, &mounts).ok()?;
        let rooms = place.lineage().filter_map(|folder| {
            let text = |name: &str| fs::read_to_string(folder.join(name)).ok();
            room(&text(limit)?, &text("memory.stat")?, anonymous)
        });
        rooms.min()
    };
    let two = of(Version::Two, "memory.max", "anon");
    let one = of(Version::One, "memory.limit_in_bytes", "total_rss");
    [machine, two, one].into_iter().flatten().min()
}

/// What a group's limit leaves beside its anonymous memory; its files can be dropped.
fn room(limit: &str, stat: &str, anonymous: &str) -> Option<u64> {
    let limit: u64 = limit.trim().parse().ok().filter(|&bytes| bytes < NO_LIMIT)?;
    let used = stat.lines().find_map(|line| line.strip_prefix(anonymous)?.trim().parse::<u64>().ok());
    Some(limit.saturating_sub(used.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_group_leaves() {
        assert_eq!(room("1000\n", "file 700\nanon 300\n", "anon"), Some(700));
        assert_eq!(room("max\n", "anon 300\n", "anon"), None);
        assert_eq!(room("9223372036854771712\n", "total_rss 300\n", "total_rss"), None);
        assert_eq!(room("100\n", "total_rss 300\n", "total_rss"), Some(0));
    }

    /// Every machine that runs this has more than a megabyte free and less than a petabyte.
    #[test]
    fn this_machine_has_some() {
        assert!(free_bytes().is_some_and(|bytes| (1_000_000..1_000_000_000_000_000).contains(&bytes)));
    }
}
