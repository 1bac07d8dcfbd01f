//! What a control group has counted, from the texts of its files.
use serde::Serialize;

/// Counts of a control group since it was made. `None` is what this version of control groups, or this kernel, does not
/// tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counters {
    /// Most bytes at once, page cache and kernel memory included.
    pub(crate) peak_bytes: Option<u64>,
    /// Bytes of anonymous memory now.
    pub(crate) anonymous_bytes: Option<u64>,
    /// Bytes of the kernel's own for these processes now: page tables, stacks, inodes.
    pub(crate) kernel_bytes: Option<u64>,
    /// Bytes in swap now.
    pub(crate) swap_bytes: Option<u64>,
    /// How often an allocation ran into the limit and the kernel had to reclaim.
    pub(crate) limit_hits: Option<u64>,
    /// Pages looked at in search of some to reclaim.
    pub(crate) pages_scanned: Option<u64>,
    /// Pages that were reclaimed.
    pub(crate) pages_reclaimed: Option<u64>,
    /// Page faults that had to wait for a disk.
    pub(crate) major_faults: Option<u64>,
    /// Pages of files that were reclaimed and soon read again.
    pub(crate) file_refaults: Option<u64>,
    /// Pages of anonymous memory that came back from swap.
    pub(crate) swap_refaults: Option<u64>,
    /// Processes that the kernel killed for lack of memory.
    pub(crate) oom_kills: Option<u64>,
}

/// The number behind `name` in a file of lines `name number`.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// A file that holds one number.
fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

/// What the kernel's own memory consists of, where memory.stat has no sum of it: before Linux 5.18.
const KERNEL_PARTS: [&str; 5] = ["kernel_stack", "pagetables", "percpu", "vmalloc", "slab"];

impl Counters {
    /// Version 2; `read` gives the text of a file of the group.
    pub(super) fn version_2(read: impl Fn(&str) -> Option<String>) -> Counters {
        let (stat, events) = (read("memory.stat").unwrap_or_default(), read("memory.events").unwrap_or_default());
        let file = |name: &str| number(&read(name)?);
        let kernel_parts =
            || KERNEL_PARTS.into_iter().filter_map(|name| field(&stat, name)).reduce(|sum, part| sum + part);
        Counters {
            peak_bytes: file("memory.peak"),
            anonymous_bytes: field(&stat, "anon"),
            kernel_bytes: field(&stat, "kernel").or_else(kernel_parts),
            swap_bytes: file("memory.swap.current"),
            limit_hits: field(&events, "max"),
            pages_scanned: field(&stat, "pgscan"),
            pages_reclaimed: field(&stat, "pgsteal"),
            major_faults: field(&stat, "pgmajfault"),
            file_refaults: field(&stat, "workingset_refault_file"),
            swap_refaults: field(&stat, "workingset_refault_anon"),
            oom_kills: field(&events, "oom_kill"),
        }
    }

    /// Version 1, which does not count the pages that it reclaims.
    pub(super) fn version_1(read: impl Fn(&str) -> Option<String>) -> Counters {
        let (stat, oom) = (read("memory.stat").unwrap_or_default(), read("memory.oom_control").unwrap_or_default());
        let file = |name: &str| number(&read(name)?);
        Counters {
            peak_bytes: file("memory.max_usage_in_bytes"),
            anonymous_bytes: field(&stat, "total_rss"),
            kernel_bytes: file("memory.kmem.usage_in_bytes"),
            swap_bytes: field(&stat, "total_swap"),
            limit_hits: file("memory.failcnt"),
            pages_scanned: None,
            pages_reclaimed: None,
            major_faults: field(&stat, "total_pgmajfault"),
            file_refaults: field(&stat, "total_workingset_refault_file"),
            swap_refaults: field(&stat, "total_workingset_refault_anon"),
            oom_kills: field(&oom, "oom_kill"),
        }
    }

    /// Bytes that the kernel cannot give to others without swap: anonymous memory and its own.
    pub(crate) fn unreclaimable_bytes(&self) -> Option<u64> {
        Some(self.anonymous_bytes? + self.kernel_bytes.unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_of_version_2() {
        let counters = Counters::version_2(|name| {
            let text = match name {
                "memory.peak" => "536870912\n",
                "memory.swap.current" => "8192\n",
                "memory.events" => "low 0\nhigh 0\nmax 41\noom 2\noom_kill 1\noom_group_kill 0\n",
                "memory.stat" => {
                    "anon 4096\nfile 12288\nkernel 300\nkernel_stack 100\nworkingset_refault_anon 3\n\
                     workingset_refault_file 5\npgscan 70\npgsteal 60\npgscan_kswapd 1\npgmajfault 7\n"
                }
                _ => return None,
            };
            Some(text.to_owned())
        });
        let expected = Counters {
            peak_bytes: Some(536_870_912),
            anonymous_bytes: Some(4_096),
            kernel_bytes: Some(300),
            swap_bytes: Some(8_192),
            limit_hits: Some(41),
            pages_scanned: Some(70),
            pages_reclaimed: Some(60),
            major_faults: Some(7),
            file_refaults: Some(5),
            swap_refaults: Some(3),
            oom_kills: Some(1),
        };
        assert_eq!(counters, expected);
        assert_eq!(counters.unreclaimable_bytes(), Some(4_396));
    }

    /// Captured on Linux 5.10 (`fixtures/README.md`), which has no memory.peak and no sum of the kernel's memory.
    #[test]
    fn a_group_of_version_2_on_an_older_kernel() {
        let counters = Counters::version_2(|name| {
            let text = match name {
                "memory.swap.current" => include_str!("../../../fixtures/cgroup/v2-5.10/memory.swap.current"),
                "memory.events" => include_str!("../../../fixtures/cgroup/v2-5.10/memory.events"),
                "memory.stat" => include_str!("../../../fixtures/cgroup/v2-5.10/memory.stat"),
                _ => return None,
            };
            Some(text.to_owned())
        });
        assert_eq!((counters.peak_bytes, counters.kernel_bytes), (None, Some(262_984)), "slab is all that it tells");
        assert_eq!(counters.unreclaimable_bytes(), Some(46_678_016 + 262_984));
        assert_eq!((counters.limit_hits, counters.oom_kills), (Some(621), Some(0)));
        assert_eq!((counters.pages_scanned, counters.pages_reclaimed), (Some(32_964), Some(27_945)));
        assert_eq!((counters.major_faults, counters.file_refaults), (Some(33), Some(462)));
        assert_eq!((counters.swap_bytes, counters.swap_refaults), (Some(2_232_320), Some(0)));
    }

    /// As kernel 6.18 writes them; the lines without `total_` are of this group without the groups below it.
    #[test]
    fn a_group_of_version_1() {
        let counters = Counters::version_1(|name| {
            let text = match name {
                "memory.max_usage_in_bytes" => "67108864\n",
                "memory.kmem.usage_in_bytes" => "1000\n",
                "memory.failcnt" => "12\n",
                "memory.oom_control" => "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
                "memory.stat" => {
                    "rss 1\ntotal_rss 8192\ntotal_swap 0\ntotal_pgmajfault 9\ntotal_workingset_refault_file 4\n\
                     total_workingset_refault_anon 0\n"
                }
                _ => return None,
            };
            Some(text.to_owned())
        });
        assert_eq!((counters.peak_bytes, counters.anonymous_bytes), (Some(67_108_864), Some(8_192)));
        assert_eq!((counters.limit_hits, counters.major_faults, counters.oom_kills), (Some(12), Some(9), Some(1)));
        assert_eq!((counters.file_refaults, counters.pages_reclaimed), (Some(4), None));
    }

    #[test]
    fn nothing_readable_is_nothing_known() {
        assert_eq!(Counters::version_2(|_| None), Counters::default());
        assert_eq!(Counters::default().unreclaimable_bytes(), None);
    }
}
