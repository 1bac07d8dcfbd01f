//! What the process may still take, by each of the limits that it could meet.
//!
//! | limit | what counts against it | what happens there |
//! |---|---|---|
//! | of the control group and its ancestors | the group's memory, without what the kernel can take back | the kernel kills a process of the group |
//! | RLIMIT_AS | all mappings, resident or not (statm) | the next mapping is refused |
//! | RLIMIT_DATA | private writable mappings (statm, which adds the main stack) | the next mapping is refused |
//! | the machine | all but MemAvailable and SwapFree (/proc/meminfo) | the kernel kills a process |
//!
//! A group's memory is often full of page cache, which gives way: so `reclaimable` of its memory.stat counts as room. A
//! group's swap does not count: a group that begins to swap is near its limit.
use alloc_timeline::kept_file::{KeptFile, read_text};
use procfs_core::{FromRead, Meminfo};

use super::cgroup::{Group, Level};
use super::spent::{Probe, Stopwatch};
use super::status::{Sizes, Statm};
use crate::sys::{Resource, resource_limit};

/// A limit that the process could meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// That of the control group (0), its parent (1), and so on.
    Group(usize),
    /// One of an ancestor of the control group that is not visible here.
    HiddenGroup,
    /// RLIMIT_AS.
    AddressSpace,
    /// RLIMIT_DATA.
    Data,
    /// The machine's memory and swap.
    Machine,
}

impl Bound {
    /// Whether it is mappings that are refused at the limit, and not a process that is ended.
    pub fn refuses_mappings(self) -> bool {
        self.resource().is_some()
    }

    /// The name of the resource limit, if it is one (getrlimit(2)).
    pub fn resource(self) -> Option<&'static str> {
        match self {
            Bound::AddressSpace => Some("RLIMIT_AS"),
            Bound::Data => Some("RLIMIT_DATA"),
            Bound::Group(_) | Bound::HiddenGroup | Bound::Machine => None,
        }
    }
}

/// How much a limit leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Which limit.
    pub bound: Bound,
    /// The limit in bytes.
    pub limit_bytes: u64,
    /// What is left until then. It may be 0.
    pub left_bytes: u64,
}

/// The instruments, opened once.
#[derive(Debug)]
pub struct Limits {
    group: Option<Group>,
    statm: Statm,
    meminfo: Option<KeptFile>,
}

impl Limits {
    /// Opens what this machine has.
    pub fn open() -> Self {
        Limits { group: Group::open().ok(), statm: Statm::open(), meminfo: KeptFile::open("/proc/meminfo").ok() }
    }

    /// The room that each limit leaves now; limits that are not there or cannot be read are left out. `is_near` says
    /// from a limit and the room that it leaves whether a slower reading is worth it: what the kernel can take back.
    pub fn rooms(&self, is_near: impl Fn(u64, u64) -> bool) -> Vec<Room> {
        let mut watch = Stopwatch::start();
        let mut rooms = self.group.as_ref().map_or_else(Vec::new, |group| in_group(group, is_near));
        rooms.extend(for_mappings(&self.statm));
        rooms.extend(self.in_machine());
        watch.lap(Probe::Limits);
        rooms
    }

    fn in_machine(&self) -> Option<Room> {
        let mut text = [0; 4 << 10];
        let length = self.meminfo.as_ref()?.read_at(&mut text, 0).ok()?;
        in_machine(std::str::from_utf8(&text[..length]).ok()?)
    }

    /// What to call a limit: its file, or its name.
    pub fn name(&self, bound: Bound) -> String {
        let of_group = |name: &str, level: usize| {
            let level = self.group.as_ref().and_then(|group| group.levels().get(level));
            format!("{name} of {}", level.map_or_else(String::new, |level| level.folder().display().to_string()))
        };
        match bound {
            Bound::Group(level) => {
                let name = self.group.as_ref().map_or("memory.max", |group| group.version().names().limit);
                of_group(name, level)
            }
            Bound::HiddenGroup => of_group("hierarchical_memory_limit", 0),
            Bound::AddressSpace | Bound::Data => bound.resource().unwrap_or_default().to_owned(),
            Bound::Machine => "the machine's memory and swap".to_owned(),
        }
    }

    /// How often the group with this limit was at it, and for how many nanoseconds a process of it waited for memory.
    pub fn trouble(&self, bound: Bound) -> (Option<u64>, Option<u64>) {
        let Bound::Group(level) = bound else { return (None, None) };
        let level = self.group.as_ref().and_then(|group| group.levels().get(level));
        (level.and_then(Level::hits), level.and_then(Level::stalled_ns))
    }
}

fn in_group(group: &Group, is_near: impl Fn(u64, u64) -> bool) -> Vec<Room> {
    let visible = group.levels().iter().enumerate();
    let visible = visible.filter_map(|(number, level)| Some((Bound::Group(number), level, level.limit()?)));
    // Only what this group uses is known to count against a limit that is not visible.
    let hidden = group.hidden_limit().map(|limit| (Bound::HiddenGroup, group.own(), limit));
    let room = |(bound, level, limit_bytes): (Bound, &Level, u64)| {
        let mut left_bytes = limit_bytes.saturating_sub(level.usage()?);
        if is_near(limit_bytes, left_bytes) {
            let reclaimable = level.stat().map_or(0, |stat| stat.reclaimable);
            left_bytes = left_bytes.saturating_add(reclaimable).min(limit_bytes);
        }
        Some(Room { bound, limit_bytes, left_bytes })
    };
    visible.chain(hidden).filter_map(room).collect()
}

/// The room that the limits of mappings leave, where the process has such limits.
fn for_mappings(statm: &Statm) -> impl Iterator<Item = Room> {
    let limits = [Resource::AddressSpace, Resource::Data].map(resource_limit);
    let sizes = limits.iter().any(Option::is_some).then(|| statm.read()).flatten();
    sizes.into_iter().flat_map(move |sizes| in_address_space(sizes, limits))
}

/// The limit of mappings that leaves less than `bytes`, if one does.
pub fn refuses_soon(bytes: u64) -> Option<Room> {
    for_mappings(&Statm::open()).find(|room| room.left_bytes < bytes)
}

fn in_address_space(sizes: Sizes, limits: [Option<u64>; 2]) -> impl Iterator<Item = Room> {
    let used = [(Bound::AddressSpace, sizes.mapped), (Bound::Data, sizes.data)];
    limits.into_iter().zip(used).filter_map(|(limit, (bound, used))| {
        let limit_bytes = limit?;
        Some(Room { bound, limit_bytes, left_bytes: limit_bytes.saturating_sub(used) })
    })
}

/// By the text of /proc/meminfo. It needs four of some fifty lines, on every tick when little is left: so it is not left
/// to procfs, which makes a map of all. `None` before Linux 3.14, which has no MemAvailable.
fn in_machine(meminfo: &str) -> Option<Room> {
    let bytes = |name: &str| kib(meminfo.lines().find_map(|line| line.strip_prefix(name))?);
    let limit_bytes = bytes("MemTotal:")?.saturating_add(bytes("SwapTotal:")?);
    let left_bytes = bytes("MemAvailable:")?.saturating_add(bytes("SwapFree:")?);
    Some(Room { bound: Bound::Machine, limit_bytes, left_bytes })
}

/// The bytes of the text behind a name in the kernel's lists.
fn kib(text: &str) -> Option<u64> {
    text.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}

/// Whether the machine has swap.
pub fn has_swap() -> bool {
    Meminfo::from_file("/proc/meminfo").is_ok_and(|meminfo| meminfo.swap_total > 0)
}

/// What the process has in swap (VmSwap), in bytes.
pub fn swapped() -> Option<u64> {
    let text = read_text("/proc/self/status").ok()?;
    vm_swap(&text)
}

/// Of some fifty lines this needs one: so it is not left to procfs, which makes a map of all.
fn vm_swap(text: &str) -> Option<u64> {
    kib(text.lines().find_map(|line| line.strip_prefix("VmSwap:"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_space() {
        let sizes = Sizes { mapped: 900, rss: 10, files: 5, data: 300 };
        let rooms = |limits| in_address_space(sizes, limits).collect::<Vec<_>>();
        let room = |bound, limit_bytes, left_bytes| Room { bound, limit_bytes, left_bytes };
        assert_eq!(rooms([None, None]), []);
        // A limit may be set below what is in use.
        let expected = [room(Bound::AddressSpace, 1_000, 100), room(Bound::Data, 200, 0)];
        assert_eq!(rooms([Some(1_000), Some(200)]), expected);
    }

    #[test]
    fn the_machine() {
        let text = "MemTotal:       1000 kB\nMemFree:          10 kB\nMemAvailable:    400 kB\nBuffers:           0 kB\n\
                    Cached:            0 kB\nSwapCached:        0 kB\nActive:            0 kB\nInactive:          0 kB\n\
                    SwapTotal:       200 kB\nSwapFree:         50 kB\nDirty:             0 kB\nWriteback:         0 kB\n\
                    AnonPages:         0 kB\nMapped:            0 kB\nSlab:              0 kB\nNFS_Unstable:      0 kB\n\
                    Bounce:            0 kB\nWritebackTmp:      0 kB\nCommittedAS:       0 kB\nCommitted_AS:      0 kB\n\
                    VmallocTotal:      0 kB\nVmallocUsed:       0 kB\nVmallocChunk:      0 kB\n";
        let (limit_bytes, left_bytes) = (1_200 << 10, 450 << 10);
        assert_eq!(in_machine(text), Some(Room { bound: Bound::Machine, limit_bytes, left_bytes }));
        assert_eq!(in_machine("MemTotal:       1000 kB\nMemFree:          10 kB\n"), None);
    }

    #[test]
    fn swap_of_the_process() {
        assert_eq!(vm_swap("VmPTE:\t      84 kB\nVmSwap:\t      12 kB\nHugetlbPages:\t       0 kB\n"), Some(12 << 10));
        assert_eq!([vm_swap("VmPTE:\t 84 kB\n"), vm_swap("VmSwap:\tmuch\n")], [None; 2]);
    }

    /// Whatever the limits of this machine are, this process is within them.
    #[test]
    fn this_process_has_room() {
        let limits = Limits::open();
        let rooms = limits.rooms(|_, _| true);
        for is_near in [false, true] {
            let began = std::time::Instant::now();
            (0..100).for_each(|_| drop(limits.rooms(|_, _| is_near)));
            println!("a look, near a limit: {is_near}: {:?}", began.elapsed() / 100);
        }
        assert!(rooms.iter().all(|room| room.left_bytes <= room.limit_bytes), "{rooms:?}");
        assert!(rooms.iter().any(|room| room.bound == Bound::Machine), "{rooms:?}");
    }
}
