//! The account beyond the resident set: what the control group counts, and what it may use.
//!
//! ```text
//! RSS                                       of the book
//!   change between the readings             statm, when the lines below were read
//!   shared with other processes             Pss - Private - Shared          (smaps_rollup)
//!   unexplained
//! PSS                                       smaps_rollup
//!   other processes of the group            the sum of their PSS
//!   pages of files that other groups ...    file_mapped - the PSS of files  (memory.stat)
//!   page cache ... that nobody maps         file - file_mapped              (memory.stat)
//!   kernel memory                           memory.stat or memory.kmem
//!   unexplained
//! memory.current                            the group, and all groups below it
//!   other groups under the same limit       where the limit is an ancestor's
//!   room until the limit
//! memory.max                                the tightest of the group and its ancestors
//! swap of the group                         an account of its own: no page is in both
//! ```
//!
//! Each step has its own file, and `unexplained` is what these disagree by. Up to PSS the numbers are the process's, then
//! the group's. A group is charged for the pages that its processes were the first to touch. So a library that another
//! group has loaded before is in this process's PSS, and not in the group's memory: the second step from PSS on.
use std::time::Duration;

use alloc_timeline::BeyondLine;

use super::cgroup::{Group, Version};
use super::neighbours::Neighbours;
use super::pss::Rollup;
use super::status::Statm;
use crate::sys;

/// So long may be spent on the other processes of the group when somebody has asked for the account, or at the end.
pub const NEIGHBOURS: Duration = Duration::from_millis(50);

/// What an account reads, all at about one time.
#[derive(Clone, Debug)]
pub struct BeyondReadings {
    /// Resident bytes by statm.
    rss: Option<u64>,
    rollup: Result<Rollup, String>,
    group: Result<GroupReadings, String>,
    /// What the walk over the process's own pages took, in nanoseconds of processor time.
    own_ns: u64,
}

/// The part that is about the group.
#[derive(Clone, Debug)]
struct GroupReadings {
    version: Version,
    /// The group's folder, and how its files are called.
    folder: String,
    usage: Option<u64>,
    neighbours: Option<Neighbours>,
    /// Pages of files and shared memory, and those of them that are mapped.
    file: Option<(u64, u64)>,
    /// The kernel's memory, and where the number is from.
    kernel: Option<(u64, String)>,
    swap: Option<(u64, String)>,
    limit: Option<Limit>,
}

#[derive(Clone, Debug)]
struct Limit {
    bytes: u64,
    source: String,
    /// When it is an ancestor's: what that uses, or `None` where that cannot be read.
    ancestor: Option<Option<u64>>,
}

impl BeyondReadings {
    /// By how many bytes the resident set differs from one of `rss` bytes.
    pub fn distance(&self, rss: u64) -> u64 {
        self.rss.map_or(u64::MAX, |own| own.abs_diff(rss))
    }

    /// Whether there was no time for some of the other processes.
    pub fn lacks_neighbours(&self) -> bool {
        let neighbours = self.group.as_ref().ok().and_then(|group| group.neighbours);
        neighbours.is_some_and(|neighbours| neighbours.late > 0)
    }

    /// What a reading would take for a resident set of `rss` bytes, in nanoseconds of processor time, without the other
    /// processes of the group.
    pub fn expected_ns(&self, rss: u64) -> u64 {
        let times = self.rss.and_then(|own| rss.checked_div(own)).unwrap_or(0).saturating_add(1);
        self.own_ns.saturating_mul(times)
    }

    /// Reads everything now. It takes as long as the kernel needs to walk all pages of the process, and about as long as
    /// `neighbours` more for the other processes of the group.
    pub fn take(neighbours: Duration) -> Self {
        let group = Group::open().map(|group| GroupReadings::take(&group, neighbours));
        let rss = Statm::open().read().map(|sizes| sizes.rss);
        let began_ns = sys::thread_cpu_ns();
        let rollup = Rollup::read(None);
        BeyondReadings { rss, rollup, group, own_ns: sys::thread_cpu_ns().saturating_sub(began_ns) }
    }
}

impl GroupReadings {
    fn take(group: &Group, neighbours: Duration) -> Self {
        let own = group.own();
        let neighbours = Neighbours::read(own.folder(), neighbours);
        let (usage, stat) = (own.usage(), own.stat());
        let (kernel, swap) = match group.version() {
            Version::One => {
                // Buffers of TCP have a counter of their own in version 1, outside of the group's memory.
                let name = "memory.kmem.usage_in_bytes";
                let kernel = own.number(name).map(|bytes| (bytes, name.to_owned()));
                let swap = stat.as_ref().and_then(|stat| stat.swap);
                (kernel, swap.map(|bytes| (bytes, "total_swap of memory.stat".to_owned())))
            }
            Version::Two => {
                let kernel = stat.as_ref().and_then(|stat| stat.kernel.as_ref()).map(|kernel| {
                    let parts: Vec<String> =
                        kernel.parts.iter().map(|(name, bytes)| format!("{name} {bytes}")).collect();
                    let parts = if parts.is_empty() { "nothing of any kind".to_owned() } else { parts.join(", ") };
                    (kernel.bytes, format!("memory.stat: {parts}"))
                });
                let name = "memory.swap.current";
                (kernel, own.number(name).map(|bytes| (bytes, name.to_owned())))
            }
        };
        let limit = group.tightest().map(|tightest| {
            let ancestor = tightest.is_ancestors.then_some(tightest.usage);
            Limit { bytes: tightest.bytes, source: tightest.source, ancestor }
        });
        let file = stat.map(|stat| (stat.file, stat.mapped));
        let folder = own.folder().display().to_string();
        GroupReadings { version: group.version(), folder, usage, neighbours, file, kernel, swap, limit }
    }
}

/// The lines for a book of `rss` resident bytes.
pub fn lines(rss: u64, readings: &BeyondReadings) -> Vec<BeyondLine> {
    let mut account = Account { lines: Vec::new(), sum: None };
    account.total("RSS", Ok::<_, &str>(rss), "the book");
    let change = readings.rss.map(|now| now as i64 - rss as i64).ok_or("/proc/self/statm cannot be read");
    account.step("change between the readings", change, "/proc/self/statm");
    let rollup = readings.rollup.as_ref();
    let shared = rollup.map(Rollup::charged_to_others);
    account.step("shared with other processes", shared, "/proc/self/smaps_rollup: Pss - Private - Shared");
    account.closed("PSS", rollup.map(|rollup| rollup.pss), "/proc/self/smaps_rollup");
    match &readings.group {
        Ok(group) => account.of_group(group, rollup.ok().and_then(|rollup| rollup.pss_files)),
        Err(reason) => {
            account.total("memory.current", Err(reason), "");
            account.total("memory.max", Err(reason), "");
        }
    }
    account.lines
}

/// The lines so far.
struct Account {
    lines: Vec<BeyondLine>,
    /// The sum since the last total, that one included, while all of it is known.
    sum: Option<i64>,
}

impl Account {
    fn step<R: AsRef<str>>(&mut self, name: &str, bytes: Result<i64, R>, source: &str) {
        self.sum = self.sum.zip(bytes.as_ref().ok()).map(|(sum, bytes)| sum + bytes);
        self.line(name, bytes, source, false);
    }

    fn total<R: AsRef<str>>(&mut self, name: &str, bytes: Result<u64, R>, source: &str) {
        let bytes = bytes.map(|bytes| bytes as i64);
        self.sum = bytes.as_ref().ok().copied();
        self.line(name, bytes, source, true);
    }

    /// A total after steps: what these leave is unexplained.
    fn closed<R: AsRef<str>>(&mut self, name: &str, bytes: Result<u64, R>, source: &str) {
        let rest = self.sum.zip(bytes.as_ref().ok()).map(|(sum, total)| *total as i64 - sum);
        self.step("unexplained", rest.ok_or("a line above could not be read"), "what is left");
        self.total(name, bytes, source);
    }

    fn line<R: AsRef<str>>(&mut self, name: &str, bytes: Result<i64, R>, source: &str, total: bool) {
        let source = match &bytes {
            Ok(_) => source.to_owned(),
            Err(reason) => format!("unavailable: {}", reason.as_ref()),
        };
        self.lines.push(BeyondLine { name: name.to_owned(), bytes: bytes.ok(), total, source });
    }

    /// `pss_files` are this process's pages of files.
    fn of_group(&mut self, group: &GroupReadings, pss_files: Option<u64>) {
        let folder = &group.folder;
        let unread = |name: &str| format!("{folder}/{name} cannot be read");
        let neighbours = group.neighbours;
        let counted = neighbours.map_or_else(String::new, |Neighbours { read, unread, late, .. }| {
            let left_out = if unread > 0 { format!("; {unread} more cannot be read") } else { String::new() };
            let in_time = if late > 0 { format!("; there was no time for {late} more") } else { String::new() };
            format!("PSS of {read} processes in {folder}{left_out}{in_time}")
        });
        let others = neighbours.map(|neighbours| neighbours.pss as i64).ok_or_else(|| unread("cgroup.procs"));
        self.step("other processes of the group", others, &counted);
        let mapped = group.file.zip(pss_files).zip(neighbours);
        let elsewhere = mapped.map(|(((_, mapped), own), others)| mapped as i64 - (own + others.pss_files) as i64);
        self.step(
            "mapped pages of files charged to other groups",
            elsewhere.ok_or("memory.stat, the processes of the group or Pss_File cannot be read"),
            "mapped files of memory.stat - the PSS of files",
        );
        let cache = group.file.map(|(file, mapped)| file as i64 - mapped as i64).ok_or_else(|| unread("memory.stat"));
        self.step("page cache of the group that nobody maps", cache, "memory.stat: file - file_mapped");
        let kernel = group.kernel.as_ref();
        let bytes = kernel.map(|(bytes, _)| *bytes as i64).ok_or("there is no count of it");
        self.step("kernel memory", bytes, kernel.map_or("", |(_, source)| source));
        let names = group.version.names();
        let usage = group.usage.ok_or_else(|| unread(names.usage));
        self.closed(names.usage, usage, &format!("{folder}/{}", names.usage));
        self.until_the_limit(group);
        let swap = group.swap.as_ref();
        let bytes = swap.map(|(bytes, _)| *bytes).ok_or("the group has no count of it");
        self.total("swap of the group", bytes, swap.map_or("", |(_, source)| source));
    }

    fn until_the_limit(&mut self, group: &GroupReadings) {
        let name = group.version.names().limit;
        let Some(limit) = &group.limit else {
            let none = format!("{} and its ancestors have no limit that is visible here", group.folder);
            self.step("room until the limit", Err(&none), "");
            return self.total(name, Err(&none), "");
        };
        let mut used = group.usage;
        if let Some(ancestor) = limit.ancestor {
            let others = ancestor.zip(used).map(|(all, own)| all as i64 - own as i64);
            let source = "the use of the group that has the limit, less that of this one";
            self.step("other groups under the same limit", others.ok_or("that group is not visible here"), source);
            used = ancestor;
        }
        let room = used.map(|used| limit.bytes as i64 - used as i64).ok_or("what is used could not be read");
        self.step("room until the limit", room, "the difference");
        self.total(name, Ok::<_, &str>(limit.bytes), &limit.source);
    }
}

#[cfg(test)]
#[path = "beyond_tests.rs"]
mod tests;
