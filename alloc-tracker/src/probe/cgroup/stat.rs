//! What a control group's memory consists of, by its memory.stat.
use super::files::{NO_LIMIT, Version, field, limit};

/// The parts of a group's memory that the account needs, all in bytes and with those of the groups below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Page cache and shared memory, mapped or not, without the pages that are on their way to swap.
    pub file: u64,
    /// The part of `file` that is mapped by some process.
    pub mapped: u64,
    /// What the kernel can take back without swap: pages of files, and its own caches.
    pub reclaimable: u64,
    /// The kernel's own memory by kind, where this file has it: version 2.
    pub kernel: Option<Kernel>,
    /// What is in swap, where this file has it: version 1.
    pub swap: Option<u64>,
    /// The least limit of the group and of all ancestors, visible here or not: version 1. [`NO_LIMIT`] without one.
    pub least_limit: Option<u64>,
}

/// The kernel's memory for a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// All of it.
    pub bytes: u64,
    /// What it consists of, by the file's own names.
    pub parts: Vec<(&'static str, u64)>,
}

/// The kinds of kernel memory. Linux has their sum as `kernel` since 5.18; `sock` is not in it.
const KERNEL: [&str; 6] = ["kernel_stack", "pagetables", "sec_pagetables", "percpu", "vmalloc", "slab"];

impl Stat {
    /// What the text says; `None` when it is no memory.stat of this version.
    pub fn parse(version: Version, text: &str) -> Option<Self> {
        match version {
            Version::One => first(text),
            Version::Two => second(text),
        }
    }
}

/// Version 1 counts the group alone, and again as `total_...` with the groups below it.
fn first(text: &str) -> Option<Stat> {
    let total = |name: &str| field(text, &format!("total_{name}"));
    let cached = total("swapcached").unwrap_or(0);
    Some(Stat {
        file: total("cache")?.saturating_sub(cached),
        mapped: total("mapped_file")?,
        reclaimable: total("inactive_file")? + total("active_file")?,
        kernel: None,
        swap: total("swap"),
        least_limit: field(text, "hierarchical_memory_limit").and_then(|bytes| limit(&bytes.to_string())),
    })
}

fn second(text: &str) -> Option<Stat> {
    let of = |name: &str| field(text, name);
    let mut parts: Vec<(&str, u64)> = KERNEL.into_iter().filter_map(|name| Some((name, of(name)?))).collect();
    let sum = parts.iter().map(|(_, bytes)| bytes).sum();
    let sock = of("sock").unwrap_or(0);
    parts.push(("sock", sock));
    parts.retain(|(_, bytes)| *bytes > 0);
    Some(Stat {
        file: of("file")?.saturating_sub(of("swapcached").unwrap_or(0)),
        mapped: of("file_mapped")?,
        reclaimable: of("inactive_file")? + of("active_file")? + of("slab_reclaimable").unwrap_or(0),
        kernel: Some(Kernel { bytes: of("kernel").unwrap_or(sum) + sock, parts }),
        swap: None,
        least_limit: None,
    })
}

impl Stat {
    /// The least limit of all ancestors, when there is one.
    pub fn limit(&self) -> Option<u64> {
        self.least_limit.filter(|&bytes| bytes != NO_LIMIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_1() {
        let stat = Stat::parse(Version::One, include_str!("../../../../fixtures/cgroup/v1-limited/memory.stat"))
            .expect("a stat");
        // The group has one below it: `total_` counts both.
        assert_eq!((stat.file, stat.mapped, stat.swap), (43_143_168, 4_194_304, Some(0)));
        assert_eq!(stat.reclaimable, 42_991_616 + 151_552);
        assert_eq!((stat.kernel.clone(), stat.limit()), (None, Some(64 << 20)));
        let unlimited =
            Stat::parse(Version::One, include_str!("../../../../fixtures/cgroup/v1/memory.stat")).expect("a stat");
        assert_eq!((unlimited.least_limit, unlimited.limit()), (Some(NO_LIMIT), None));
    }

    #[test]
    fn version_2() {
        let stat =
            Stat::parse(Version::Two, include_str!("../../../../fixtures/cgroup/v2/memory.stat")).expect("a stat");
        // `kernel` is 7,340,032, and sockets are 4,096 more.
        let kernel = stat.kernel.clone().expect("the kernel's");
        assert_eq!(kernel.bytes, 7_340_032 + 4_096);
        assert!(kernel.parts.contains(&("slab", 4_872_112)) && kernel.parts.contains(&("sock", 4_096)));
        assert_eq!((stat.file, stat.mapped), (73_400_320 - 8_192, 20_971_520));
        assert_eq!(stat.reclaimable, 40_894_464 + 30_408_704 + 3_145_728);
        assert_eq!((stat.swap, stat.limit()), (None, None));
    }

    /// Before Linux 5.18 there is no line `kernel`: its parts are summed.
    #[test]
    fn an_older_version_2() {
        let text =
            "anon 10\nfile 20\nkernel_stack 3\npercpu 4\nsock 5\nfile_mapped 6\ninactive_file 7\nactive_file 8\n";
        let stat = Stat::parse(Version::Two, &format!("{text}slab 9\n")).expect("a stat");
        assert_eq!(stat.kernel.map(|kernel| kernel.bytes), Some(3 + 4 + 9 + 5));
        assert_eq!(stat.reclaimable, 15);
    }

    #[test]
    fn what_is_no_stat_says_nothing() {
        for text in ["", "anon\n", "rss 5\n", "file x\n"] {
            assert_eq!(Stat::parse(Version::One, text), None, "{text}");
            assert_eq!(Stat::parse(Version::Two, text), None, "{text}");
        }
    }
}
