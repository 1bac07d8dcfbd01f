//! A survey: resident bytes by kind of mapping, for the lines of the book that the kernel alone knows.
//!
//! Each mapping is of one kind. What of it is the tracker's is taken away first; the tracker has a line of its own.
//!
//! ```text
//! stack of a thread                        stacks, by thread
//! file: pages of its own                   pages of files, by file
//!       pages that the process has written written pages of libraries, by file
//! anonymous, directly behind a file's data zero-initialised data, by file
//! the allocator's                          no line: the book compares it with what the allocator claims
//! a GPU's driver's                       pinned host memory, by mapping
//! somebody told what it is for           a line of that name, by the layer or phase that mapped it
//! anything else: anonymous, named, shared  other anonymous memory, by mapping
//! ```
use std::cell::LazyCell;
use std::collections::BTreeMap;

use super::allocator;
use super::cost;
use super::mapped::{self, Treatment};
use super::named;
use super::parts::Parts;
use super::resident::{Pagemap, in_core};
use super::smaps::{self, Kind, Mapping, Range};
use super::threads::{self, Thread};
use crate::named_memory;

/// Why the allocator's mappings are not known.
const NOT_TOLD: &str = "unavailable: the mappings of an allocator under `Over` cannot be told from the program's; \
                        writable memory without a name is left out here";

/// Resident bytes of all mappings but the allocator's and the tracker's, and where the allocator's are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// Stacks by thread.
    pub stacks: Parts,
    /// Anonymous and shared memory by mapping.
    pub other: Parts,
    /// Memory that a GPU's driver has mapped for the device to read and write: pinned host memory.
    pub pinned: Parts,
    /// Memory of which somebody told what it is for, by that, and by the layer or phase that mapped it.
    pub told: BTreeMap<&'static str, Parts>,
    /// The part of `other`, `pinned` and `told` that the kernel counts as pages of files: shared memory.
    pub shared: u64,
    /// Zero-initialised data by file.
    pub data: Parts,
    /// Pages of mapped files that the process has written and thereby made its own, by file.
    pub written: Parts,
    /// Pages of files by file.
    pub files: Parts,
    /// The allocator's mappings.
    pub allocator: Vec<Range>,
    /// Their resident bytes; 0 when they were not counted.
    pub touched: u64,
    /// Their pages that the program has read and never written: `mincore` calls them present, and they are not resident.
    pub zeroes: u64,
    /// The bytes of the allocator's tables, if they were known before the kernel's flags told where all of them are.
    pub tables: Option<u64>,
    /// Why there is no survey.
    pub problem: Option<String>,
}

/// What a survey has found out for the next one.
#[derive(Clone, Debug)]
pub struct Known {
    allocator: Vec<Range>,
    zeroes: u64,
    tables: Option<u64>,
}

impl Survey {
    /// Walks all mappings. Where the kernel's files cannot be read, the survey is empty and says so.
    pub fn take() -> Self {
        let tables = allocator::tables();
        let mappings = match smaps::read() {
            Ok(mappings) => mappings,
            Err(reason) => return Survey { problem: Some(reason), ..Survey::default() },
        };
        let pagemap = Pagemap::open();
        let resident = |range: &Range| pagemap.resident(range.start, range.end);
        let allocators = |mapping: &Mapping| allocator::ranges_in(mapping, true, &[]);
        let parts = named::cut(&mappings, &named_memory::all(), resident);
        let mut survey = survey(&parts, &threads::read(), &cost::ranges(), allocators, resident);
        survey.zeroes = zeroes(&survey, &pagemap);
        survey.tables = tables;
        survey
    }

    /// Walks all mappings once more, as [`Survey::take`] does; but the pages of the allocator's mappings, which are most of
    /// a large process, are not looked at, if those mappings can be told without the kernel's flags.
    pub fn again(known: &Known) -> Self {
        let (pagemap, tracker) = (Pagemap::open(), cost::ranges());
        let own = |mapping: &Mapping| {
            let is_trackers = overlaps_any(&mapping.range, &tracker);
            if is_trackers { Vec::new() } else { allocator::ranges_in(mapping, false, &known.allocator) }
        };
        // By the time this is asked, the mappings have been listed. So if the tables are no more than before, none is new.
        let has_new_tables = LazyCell::new(|| known.tables.is_none() || known.tables != allocator::tables());
        let treatment = |mapping: &Mapping| {
            if !own(mapping).is_empty() {
                Treatment::LeaveOut
            } else if needs_flags(mapping) && *has_new_tables {
                Treatment::AskSmaps
            } else {
                Treatment::Count
            }
        };
        match mapped::read(&pagemap, &tracker, treatment) {
            None => Survey::take(),
            Some(mappings) => {
                let resident = |range: &Range| pagemap.resident(range.start, range.end);
                let mappings = named::cut(&mappings, &named_memory::all(), resident);
                let again = survey(&mappings, &threads::read(), &tracker, own, resident);
                Survey { zeroes: known.zeroes, tables: known.tables, ..again }
            }
        }
    }

    /// What another survey can use of this one; `None` where it has to begin from nothing.
    pub fn known(&self) -> Option<Known> {
        let Survey { allocator, zeroes, tables, .. } = self;
        let is_useful = allocator::keeps_mappings() && self.problem.is_none();
        is_useful.then(|| Known { allocator: allocator.clone(), zeroes: *zeroes, tables: *tables })
    }

    /// The allocator's mappings of this moment: those of the survey, as far as they have grown, and those that can be
    /// recognised without the kernel's flags.
    ///
    /// # Errors
    /// A sentence, when the mappings cannot be read or cannot be told from the program's.
    pub fn allocator_now(&self) -> Result<Vec<Range>, String> {
        if !allocator::is_known() {
            return Err(NOT_TOLD.to_owned());
        }
        if let Some(reason) = &self.problem {
            return Err(reason.clone());
        }
        let tracker = cost::ranges();
        let mappings = smaps::read_addresses()?;
        let own = mappings.iter().filter(|mapping| !overlaps_any(&mapping.range, &tracker));
        Ok(own.flat_map(|mapping| allocator::ranges_in(mapping, false, &self.allocator)).collect())
    }

    /// Where the line for other anonymous memory comes from, or what it leaves out.
    pub fn source_of_other(&self) -> &str {
        if allocator::is_known() { self.source() } else { NOT_TOLD }
    }

    /// Where the lines come from, or why there are none.
    pub fn source(&self) -> &str {
        self.problem.as_deref().unwrap_or("/proc/self/smaps")
    }

    /// The bytes of which somebody told what they are for.
    pub fn told_bytes(&self) -> u64 {
        self.told.values().map(Parts::total).sum()
    }

    /// By how many bytes two surveys differ.
    pub fn distance(&self, other: &Survey) -> u64 {
        let of = |survey: &Survey| {
            let Survey { stacks, other, pinned, data, written, files, .. } = survey;
            [stacks, other, pinned, data, written, files].map(Clone::clone)
        };
        let named = of(self).iter().zip(&of(other)).map(|(a, b)| a.distance(b)).sum::<u64>();
        named + self.told_bytes().abs_diff(other.told_bytes())
    }
}

/// Pages of zeroes among the allocator's. There are two ways to find them, and each may find too many: before Linux 6.7, pages
/// that are shared with a forked child look the same, and pages may have been touched since smaps was read. The second way is
/// the cheap one, and mostly says that there are none.
fn zeroes(survey: &Survey, pagemap: &Pagemap) -> u64 {
    let unread = in_core(&survey.allocator).saturating_sub(survey.touched);
    if unread == 0 {
        return 0;
    }
    let pages = survey.allocator.iter().map(|range| pagemap.pages(range.start, range.end));
    pages.map(|pages| pages.present - pages.resident).sum::<u64>().min(unread)
}

/// Whether only the kernel's flags can tell if a mapping is one of the allocator's tables.
fn needs_flags(mapping: &Mapping) -> bool {
    mapping.kind == Kind::Anonymous && mapping.writable && allocator::needs_flags(&mapping.range)
}

fn overlaps_any(range: &Range, others: &[Range]) -> bool {
    others.iter().any(|other| other.start < range.end && range.start < other.end)
}

fn survey(
    mappings: &[Mapping],
    threads: &[Thread],
    tracker: &[Range],
    allocators: impl Fn(&Mapping) -> Vec<Range>,
    resident: impl Fn(&Range) -> u64,
) -> Survey {
    let mut survey = Survey::default();
    let mappings: Vec<Mapping> = mappings.iter().flat_map(|mapping| cut(mapping, threads, &resident)).collect();
    // The writable mapping of a file, and where it ends, or the zero-initialised data behind it.
    let mut data_of: Option<(&Mapping, usize)> = None;
    let has_driver = mappings.iter().any(|mapping| mapping.name.starts_with(DRIVER));
    for mapping in &mappings {
        let range = &mapping.range;
        let behind = data_of.filter(|&(_, end)| end == range.start).map(|(file, _)| file);
        data_of = None;
        let within = |other: &Range| other.start.max(range.start)..other.end.min(range.end);
        let tracked: u64 = tracker.iter().map(within).filter(|part| !part.is_empty()).map(|part| resident(&part)).sum();
        let rss = mapping.rss.saturating_sub(tracked);
        let thread = || threads.iter().find(|thread| range.contains(&thread.stack_address));
        match mapping.kind {
            Kind::File | Kind::Shared if has_driver && is_pinned(mapping) => {
                survey.shared += rss;
                survey.pinned.add(&mapping.name, rss);
            }
            Kind::File => {
                survey.files.add(&mapping.name, mapping.rss.saturating_sub(mapping.anonymous));
                survey.written.add(&mapping.name, mapping.anonymous.saturating_sub(tracked));
                data_of = mapping.writable.then_some((mapping, range.end));
            }
            Kind::Told(what) => survey.told.entry(what).or_default().add(&mapping.name, rss),
            Kind::ToldShared(what) => {
                survey.shared += rss;
                survey.told.entry(what).or_default().add(&mapping.name, rss);
            }
            Kind::Stack => survey.stacks.add(thread().map_or(&mapping.name, |thread| &thread.name), rss),
            Kind::Anonymous if let Some(thread) = thread() => survey.stacks.add(&thread.name, rss),
            Kind::Anonymous
                if let Some(file) = behind
                    && !mapping.unreserved =>
            {
                survey.data.add(&file.name, rss);
                // The kernel parts such data where a table of the tracker's begins or ends (`ledger/tables.rs`).
                let is_parted = tracker.iter().any(|table| table.start == range.end || table.end == range.end);
                data_of = is_parted.then_some((file, range.end));
            }
            Kind::Shared => {
                survey.shared += rss;
                survey.other.add(&mapping.name, rss);
            }
            _ => {
                let own = if overlaps_any(range, tracker) { Vec::new() } else { allocators(mapping) };
                let claimed: u64 = if own == [range.clone()] { rss } else { own.iter().map(&resident).sum() };
                if allocator::is_known() || mapping.kind != Kind::Anonymous || mapping.executable {
                    survey.other.add(&name(mapping), rss.saturating_sub(claimed));
                }
                survey.touched += claimed;
                survey.allocator.extend(own);
            }
        }
    }
    survey
}

/// How the files of NVIDIA's driver begin: `nvidia0`, `nvidiactl`, `nvidia-uvm`.
const DRIVER: &str = "/dev/nvidia";

/// Whether a mapping of a process that uses NVIDIA's driver is host memory that the driver has mapped. It maps shared memory
/// without a name for `cudaHostAlloc`, which the kernel calls /dev/zero, and its own files.
fn is_pinned(mapping: &Mapping) -> bool {
    mapping.name.starts_with(DRIVER) || (mapping.kind == Kind::Shared && mapping.name.starts_with("/dev/zero"))
}

/// The name of a mapping among the other anonymous memory.
fn name(mapping: &Mapping) -> String {
    if !mapping.name.is_empty() {
        return mapping.name.clone();
    }
    let bytes = mapping.range.len();
    let size = if bytes >= 1 << 20 { format!("{} MiB", bytes >> 20) } else { format!("{} KiB", bytes >> 10) };
    let kind = if mapping.executable { "executable (JIT) mapping" } else { "unnamed mapping" };
    format!("{kind} of {size} at {:#x}", mapping.range.start)
}

/// Cuts a mapping where the stack of a thread ends in it: the kernel has merged the stack with what lies behind.
fn cut(mapping: &Mapping, threads: &[Thread], resident: &impl Fn(&Range) -> u64) -> Vec<Mapping> {
    let range = &mapping.range;
    let ends = |thread: &&Thread| {
        range.contains(&thread.stack_address) && (thread.stack_address + 1..range.end).contains(&thread.stack_end)
    };
    let end = threads.iter().filter(ends).map(|thread| thread.stack_end).min();
    let Some(end) = end.filter(|_| mapping.kind == Kind::Anonymous) else { return vec![mapping.clone()] };
    let part = |range: Range, rss| Mapping { range, rss, anonymous: rss, ..mapping.clone() };
    let behind = resident(&(end..range.end)).min(mapping.rss);
    let mut parts = vec![part(range.start..end, mapping.rss - behind)];
    parts.extend(cut(&part(end..range.end, behind), threads, resident));
    parts
}

#[cfg(test)]
#[path = "survey_tests.rs"]
mod tests;
